"""What the queue did, told from its table exports: Spark reads, computes and draws the report."""
