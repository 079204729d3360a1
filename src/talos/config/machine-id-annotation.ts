/**
 * On a Node whose provider id a cloud controller manager sets: the provider id of its machine here. It identifies the
 * machine of a configuration, as the flag of the kubelet otherwise does.
 */
export const machineIdAnnotation = 'talos.clusters.openmcp.cloud/machine-id';
