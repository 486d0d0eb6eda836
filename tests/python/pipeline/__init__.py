"""What the project does with hand-written change files, scenario by scenario.

Each test module declares feeds (columns, options, and the files that land in each round) and says what has to be in the
tables afterwards. The feeds of all collected modules become the sources and models of one dbt project (`project`), so
that one `dbt build` a round covers them all.
"""
