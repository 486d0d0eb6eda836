{{ config(partition_by=["rating"]) }}

with category_names as (
    select
        film_categories.film_id,
        array_sort(collect_list(categories.name)) as categories
    from {{ ref("slv_pagila__film_category") }} as film_categories
    inner join {{ ref("slv_pagila__category") }} as categories
        on film_categories.category_id = categories.category_id
    group by film_categories.film_id
),

actor_names as (
    select
        film_actors.film_id,
        array_sort(collect_list(concat_ws(' ', actors.first_name, actors.last_name))) as actors
    from {{ ref("slv_pagila__film_actor") }} as film_actors
    inner join {{ ref("slv_pagila__actor") }} as actors
        on film_actors.actor_id = actors.actor_id
    group by film_actors.film_id
),

final as (
    select
        films.film_id,
        films.title,
        films.description,
        films.release_year,
        rtrim(languages.name) as language,
        rtrim(original_languages.name) as original_language,
        films.rental_duration,
        films.rental_rate,
        films.length,
        films.replacement_cost,
        films.special_features,
        coalesce(category_names.categories, array()) as categories,
        coalesce(actor_names.actors, array()) as actors,
        films._cdc_source_ts as changed_at,
        films.rating
    from {{ ref("slv_pagila__film") }} as films
    left join {{ ref("slv_pagila__language") }} as languages
        on films.language_id = languages.language_id
    left join {{ ref("slv_pagila__language") }} as original_languages
        on films.original_language_id = original_languages.language_id
    left join category_names on films.film_id = category_names.film_id
    left join actor_names on films.film_id = actor_names.film_id
)

select * from final
