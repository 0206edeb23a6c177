"""Sessions in a Postgres database, for teams and fleets."""
