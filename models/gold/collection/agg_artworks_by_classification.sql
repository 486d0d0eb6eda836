select
    nullif(classification, '') as classification,
    count(*) as artwork_count,
    count(distinct artist_id) as artist_count,
    cast(min(date) as int) as earliest_year,
    cast(max(date) as int) as latest_year
from {{ ref("slv_moma__artworks") }}
group by nullif(classification, '')
