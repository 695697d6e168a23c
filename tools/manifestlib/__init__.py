"""Checks of deploy/k8s: the output of kustomize is valid, restricted, and agrees with the programs. tools/lint/manifests runs them."""
