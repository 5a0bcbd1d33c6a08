#!/bin/sh
# Starts a Spark Connect server on this machine alone, and stays: Ctrl-C, or a signal to its process, ends it.
#   examples/spark/serve.sh [PORT]      with PYTHON=… for another Python that has pyspark, and MASTER=… for a cluster
set -e
PORT=${1:-15002}
SPARK_HOME=$("${PYTHON:-python}" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
export SPARK_HOME SPARK_LOCAL_IP=127.0.0.1
exec "$SPARK_HOME/bin/spark-submit" \
  --master "${MASTER:-local[${CORES:-2}]}" --driver-memory "${MEMORY:-2g}" \
  --class org.apache.spark.sql.connect.service.SparkConnectServer \
  --conf spark.connect.grpc.binding.address=127.0.0.1 \
  --conf "spark.connect.grpc.binding.port=$PORT" \
  --conf spark.ui.enabled=false \
  --conf spark.sql.shuffle.partitions=8 \
  --conf spark.log.level=ERROR \
  spark-internal
