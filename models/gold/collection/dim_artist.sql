with artworks as (
    select
        artist_id,
        count(*) as artwork_count
    from {{ ref("slv_moma__artworks") }}
    group by artist_id
),

final as (
    select
        artists.artist_id,
        artists.name as artist_name,
        nullif(artists.nationality, '') as nationality,
        nullif(artists.gender, '') as gender,
        nullif(artists.birth_year, 0) as birth_year,
        nullif(artists.death_year, 0) as death_year,
        coalesce(artworks.artwork_count, 0) as artwork_count
    from {{ ref("slv_moma__artists") }} as artists
    left join artworks on artists.artist_id = artworks.artist_id
)

select * from final
