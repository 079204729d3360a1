/** One type of the state (talos: pkg/machinery/resources), with the columns that `talosctl get` prints. */
export interface ResourceTypeRow {
  readonly namespace: string;
  /** Aliases besides those that follow from the name. */
  readonly aliases?: readonly string[];
  /** Only an administrator may read it. */
  readonly sensitive?: boolean;
  /** The first Talos minor that has it (1.x); default: all. */
  readonly since?: number;
  /** Title and path below the spec. */
  readonly columns?: readonly (readonly [string, string])[];
}

const members = [
  ['Hostname', '{.hostname}'],
  ['Machine Type', '{.machineType}'],
  ['OS', '{.operatingSystem}'],
  ['Addresses', '{.addresses}'],
] as const;
const links = [
  ...[['Alias', '{.alias}'] as const, ['Type', '{.type}'] as const, ['Kind', '{.kind}'] as const],
  ...[['Hw Addr', '{.hardwareAddr}'] as const, ['Oper State', '{.operationalState}'] as const],
  ['Link State', '{.linkState}'],
] as const;
const disks = [
  ...[['Size', '{.pretty_size}'] as const, ['Read Only', '{.readonly}'] as const],
  ...[['Transport', '{.transport}'] as const, ['Rotational', '{.rotational}'] as const],
  ...[['WWID', '{.wwid}'] as const, ['Model', '{.model}'] as const, ['Serial', '{.serial}'] as const],
] as const;
const volumes = [
  ...[['Type', '{.type}'] as const, ['Phase', '{.phase}'] as const],
  ...[['Location', '{.location}'] as const, ['Size', '{.prettySize}'] as const],
] as const;

/** The types that a simulated node has, of the 167 of Talos 1.13: a request for another one is refused. */
export const resourceTypes: Readonly<Record<string, ResourceTypeRow>> = {
  'Affiliates.cluster.talos.dev': { namespace: 'cluster', columns: members },
  'Members.cluster.talos.dev': { namespace: 'cluster', columns: members },
  'MachineConfigs.config.talos.dev': { namespace: 'config', sensitive: true },
  'APIServerConfigs.kubernetes.talos.dev': { namespace: 'controlplane', sensitive: true },
  'AuthenticationConfigs.kubernetes.talos.dev': { namespace: 'controlplane', sensitive: true, since: 14 },
  'ConfigStatuses.kubernetes.talos.dev': { namespace: 'controlplane' },
  'ControllerManagerConfigs.kubernetes.talos.dev': { namespace: 'controlplane' },
  'ManifestStatuses.kubernetes.talos.dev': { namespace: 'controlplane' },
  'Manifests.kubernetes.talos.dev': { namespace: 'controlplane' },
  'SchedulerConfigs.kubernetes.talos.dev': { namespace: 'controlplane' },
  'EtcdMembers.etcd.talos.dev': { namespace: 'etcd', columns: [['Member ID', '{.memberID}']] },
  'KubeletSpecs.kubernetes.talos.dev': { namespace: 'k8s' },
  'NodeStatuses.kubernetes.talos.dev': {
    namespace: 'k8s',
    columns: [
      ['Ready', '{.nodeReady}'],
      ['Unschedulable', '{.unschedulable}'],
    ],
  },
  'Nodenames.kubernetes.talos.dev': { namespace: 'k8s', columns: [['Nodename', '{.nodename}']] },
  'SecretStatuses.kubernetes.talos.dev': { namespace: 'controlplane' },
  'StaticPodStatuses.kubernetes.talos.dev': {
    ...{ namespace: 'k8s', aliases: ['podstatus'] },
    columns: [['Ready', '{.conditions[?(@.type=="Ready")].status}']],
  },
  'StaticPods.kubernetes.talos.dev': { namespace: 'k8s' },
  'AddressStatuses.net.talos.dev': {
    ...{ namespace: 'network', aliases: ['address', 'addresses'] },
    columns: [
      ['Address', '{.address}'],
      ['Link', '{.linkName}'],
    ],
  },
  'LinkSpecs.net.talos.dev': { namespace: 'network', sensitive: true },
  'LinkStatuses.net.talos.dev': { namespace: 'network', aliases: ['link', 'links'], columns: links },
  'Disks.block.talos.dev': { namespace: 'runtime', columns: disks },
  'ExtensionStatuses.runtime.talos.dev': {
    ...{ namespace: 'runtime', aliases: ['extensions'] },
    columns: [
      ['Name', '{.metadata.name}'],
      ['Version', '{.metadata.version}'],
    ],
  },
  'KernelCmdlines.runtime.talos.dev': { namespace: 'runtime', columns: [['Cmdline', '{.cmdline}']] },
  'MachineStatuses.runtime.talos.dev': {
    namespace: 'runtime',
    columns: [
      ['Stage', '{.stage}'],
      ['Ready', '{.status.ready}'],
    ],
  },
  'MetaKeys.runtime.talos.dev': { namespace: 'runtime', aliases: ['meta'], columns: [['Value', '{.value}']] },
  'Services.v1alpha1.talos.dev': {
    ...{ namespace: 'runtime', aliases: ['svc'] },
    columns: [
      ['Running', '{.running}'],
      ['Healthy', '{.healthy}'],
      ['Health Unknown', '{.unknown}'],
    ],
  },
  'KubernetesRootSecrets.secrets.talos.dev': { namespace: 'secrets', sensitive: true },
  'OSRootSecrets.secrets.talos.dev': { namespace: 'secrets', sensitive: true },
  'SystemDisks.block.talos.dev': { namespace: 'runtime', columns: [['Disk', '{.diskID}']] },
  'Versions.runtime.talos.dev': {
    namespace: 'runtime',
    columns: [
      ['Name', '{.name}'],
      ['Version', '{.version}'],
    ],
  },
  'VolumeStatuses.block.talos.dev': { namespace: 'runtime', columns: volumes },
  'Namespaces.meta.cosi.dev': { namespace: 'meta', aliases: ['ns'] },
  'ResourceDefinitions.meta.cosi.dev': { namespace: 'meta', aliases: ['api-resources'] },
};
