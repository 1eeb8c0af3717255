"""The CDK application: what a team deploys to its own account."""
