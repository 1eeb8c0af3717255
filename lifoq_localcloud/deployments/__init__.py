"""Stacks: how CloudFormation deploys them, and what runs because they are deployed.

    template → ``references`` (refused if it names what it lacks) → ``stacks`` (whole or rolled
    back) → ``resources`` (types that moto lacks) → moto's backends → ``runtime``

After each call that may have changed something, ``runtime`` compares functions, event source
mappings and schedules with what it runs, and starts, changes and ends them. ``inventory`` lists
what a template asks for and nothing here does.
"""
