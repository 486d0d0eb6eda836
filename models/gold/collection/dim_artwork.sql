select
    artworks.artwork_id,
    artworks.title,
    artworks.date as created_year,
    artworks.artist_id,
    coalesce(artists.name, artworks.name) as artist_name,
    nullif(artists.nationality, '') as nationality,
    nullif(artworks.classification, '') as classification
from {{ ref("slv_moma__artworks") }} as artworks
left join {{ ref("slv_moma__artists") }} as artists on artworks.artist_id = artists.artist_id
