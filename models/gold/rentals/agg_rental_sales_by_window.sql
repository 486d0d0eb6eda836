{{ incremental_mart(["region", "window_start"], delete_where="orders = 0") }}

with regions as (
    select * from {{ ref("sales_regions") }}
),

-- What changed, what is and what was are asked of one table, which a run cannot find in two stages.
changed_payments as (
    {{ changed_keys(ref("slv_sales__payments_history"), ["payment_id"]) }}
),

-- Changed payments as they are and as they ever were: one that was sent again has left windows.
sent as (
    select distinct
        versions.country,
        versions.payment_date
    from {{ ref("slv_sales__payments_history") }} as versions
    inner join changed_payments on versions.payment_id = changed_payments.payment_id
),

affected_windows as (
    select
        country,
        window(timestamp_seconds(payment_date), '10 minutes', '5 minutes') as sliding_window
    from sent
),

affected as (
    select distinct
        coalesce(regions.region, 'Unassigned') as region,
        affected_windows.sliding_window.start as window_start,
        affected_windows.sliding_window.end as window_end
    from affected_windows
    left join regions on affected_windows.country = regions.country
),

payment_windows as (
    select
        country,
        cast(amount as decimal(10, 2)) as amount,
        window(timestamp_seconds(payment_date), '10 minutes', '5 minutes') as sliding_window
    from {{ ref("slv_sales__payments_history") }}
    where _is_current
),

payments as (
    select
        coalesce(regions.region, 'Unassigned') as region,
        payment_windows.sliding_window.start as window_start,
        payment_windows.amount
    from payment_windows
    left join regions on payment_windows.country = regions.country
),

final as (
    select
        affected.region,
        affected.window_start,
        affected.window_end,
        count(payments.amount) as orders,
        cast(coalesce(sum(payments.amount), 0) as decimal(18, 2)) as sales
    from affected
    left join payments
        on affected.region = payments.region
        and affected.window_start = payments.window_start
    group by
        affected.region,
        affected.window_start,
        affected.window_end
)

select * from final
