import { annotations, openmcpKeys } from './names.ts';

/** An annotation that users set or remove. The table in `docs/reference` is generated from {@link userAnnotations}. */
export interface UserAnnotation {
  readonly key: string;
  /** The kinds, and the state that they must be in. */
  readonly on: string;
  readonly value: string;
  readonly effect: string;
  /** The effect on data on disks and in etcd. */
  readonly data: string;
  /** When the provider removes it. Absent: it stays until a user removes it. */
  readonly removed?: string;
}

export const userAnnotations: readonly UserAnnotation[] = [
  {
    key: openmcpKeys.operation,
    on: 'any kind but ClusterConfig and NodePool',
    value: '`reconcile`',
    effect: 'The object is reconciled now. On an AccessRequest the token is renewed.',
    data: 'none is touched',
    removed: 'at once',
  },
  {
    key: openmcpKeys.operation,
    on: 'any kind but ClusterConfig and NodePool',
    value: '`ignore`',
    effect: 'The object is not reconciled. On a Cluster, its Machines are not reconciled either.',
    data: 'none is touched',
  },
  {
    key: annotations.approve,
    on: 'Machine',
    value: 'reasons, comma-separated',
    effect: 'Approves the actions that the Machine waits for with these reasons. Its message names each action.',
    data: 'described in the message of the reason; a reason that is not named is not approved',
    removed: 'when the reasons are gone',
  },
  {
    key: annotations.approve,
    on: 'Cluster',
    value: '`DeprecatedApisInUse`',
    effect: 'Kubernetes is upgraded although clients request APIs that the next version does not have.',
    data: 'none is touched; the clients fail until they are changed',
    removed: 'when the upgrade begins',
  },
  {
    key: annotations.approve,
    on: 'Cluster in deletion that was adopted',
    value: '`AccessNotRemoved`',
    effect: 'The Cluster is released although its API server does not answer.',
    data: 'none is touched; the accounts and roles of AccessRequests stay in the cluster, and their tokens until they expire',
  },
  {
    key: annotations.rollout,
    on: 'Cluster, ProviderConfig',
    value: '`pause`',
    effect: 'No further node is changed. A node that is being changed is finished.',
    data: 'none is touched',
  },
  {
    key: annotations.rollout,
    on: 'Cluster, ProviderConfig',
    value: '`now`',
    effect: 'Changes begin outside the windows of `spec.rollout.windows`, too, and without a backup before them.',
    data: 'none is touched',
    removed: 'when no change waits any more',
  },
  {
    key: annotations.rollout,
    on: 'Cluster, ProviderConfig',
    value: '`retry`',
    effect: 'A rollout that stopped at a failure is tried again.',
    data: 'none is touched',
    removed: 'when it is tried again',
  },
  {
    key: annotations.takeBackup,
    on: 'Cluster whose ProviderConfig has `spec.backup`',
    value: '`now`',
    effect: 'A backup is taken now, whatever the schedule says.',
    data: 'etcd is only read; backups beyond `spec.backup.keep` are deleted when the new one is complete',
    removed: 'when it was tried; the condition BackedUp has the result',
  },
  {
    key: annotations.rotateCa,
    on: 'Cluster',
    value: '`talos` or `kubernetes`',
    effect:
      'The certificate authority of the Talos API, or that of Kubernetes, is replaced in three steps, each of which takes the nodes one at a time. A request for the other one waits until the rotation is finished.',
    data: 'none is touched',
    removed: 'when the rotation has begun; the condition CertificateAuthoritiesRotated has the progress',
  },
  {
    key: annotations.restore,
    on: 'Cluster whose ProviderConfig has `spec.backup`',
    value: 'key of a backup, as the command `backups list` prints it',
    effect:
      'Etcd is restored from the backup, when a user has approved it. Until then the condition EtcdRestored says what would be lost.',
    data: 'everything in etcd since the backup is lost, and everything in `/var` of the control planes',
    removed: 'when it is restored; the condition EtcdRestored has the result',
  },
  {
    key: annotations.restoreIdentity,
    on: 'Cluster with the annotation `restore`',
    value: "name of a Secret in the provider's own namespace",
    effect: 'Its key `identity` holds the private key of age that decrypts the backup. Delete the Secret afterwards.',
    data: 'none is touched',
    removed: 'when etcd is restored',
  },
  {
    key: annotations.approve,
    on: 'Cluster with the annotation `restore`',
    value: '`RestoreNotApproved`, `EtcdHasQuorum`',
    effect:
      'Etcd is restored as the condition EtcdRestored describes. The second one approves it for an etcd that works.',
    data: 'everything in etcd since the backup is lost, and everything in `/var` of the control planes',
    removed: 'when the restore begins',
  },
  {
    key: annotations.maintenance,
    on: 'Machine',
    value: '`true`',
    effect:
      'The machine is not repaired, not started when it is powered off, and neither restarted nor replaced when its node is unhealthy. Its state is still reported.',
    data: 'none is touched',
  },
  {
    key: annotations.remediate,
    on: 'Machine whose node is unhealthy',
    value: '`restart`',
    effect:
      'The machine is restarted without the waiting time and the limits of `spec.remediation`. Control planes still need a quorum without it.',
    data: 'none is touched',
    removed: 'when that has begun',
  },
  {
    key: annotations.remediate,
    on: 'Machine whose node is unhealthy',
    value: '`replace`',
    effect:
      'Another machine takes its place, without the waiting time and the limits of `spec.remediation`. Control planes still need a quorum without it.',
    data: 'the disks of the machine are destroyed',
    removed: 'when that has begun',
  },
  {
    key: annotations.deleteFirst,
    on: 'Machine',
    value: '`true`',
    effect: 'When its pool is to have fewer nodes, this Machine is deleted before others of the pool.',
    data: 'none is touched until then',
  },
  {
    key: annotations.failureDomainLost,
    on: 'Machine in deletion',
    value: '`true`',
    effect:
      'Declares the failure domain of the machine permanently lost. The Machine is released without calls to the platform.',
    data: 'resources on the platform remain, and the address can be assigned again',
  },
  {
    key: annotations.removeOrphans,
    on: 'ProviderConfig',
    value: 'names of Machines that do not exist, comma-separated',
    effect: 'Removes the orphans of these names immediately instead of after a day.',
    data: 'their disks are destroyed',
    removed: 'when the removal has begun',
  },
  {
    key: annotations.inspect,
    on: 'Host',
    value: '`true`',
    effect:
      'Reboots the server into the rescue system and inspects its hardware. Rejected while a Machine holds the Host.',
    data: 'no disk is written',
    removed: 'when the inspection has begun',
  },
  {
    key: annotations.reboot,
    on: 'Host',
    value: '`true`',
    effect: 'Reboots the server and verifies the reboot.',
    data: 'no disk is written',
    removed: 'when the reboot has begun',
  },
  {
    key: annotations.permanentError,
    on: 'Host, set by the provider',
    value: 'the cause',
    effect: 'The Host is not used until the annotation is removed, which releases it for use.',
    data: 'none is touched while it is set',
  },
  {
    key: annotations.nodePrefix,
    on: 'Cluster, before its Machines exist',
    value: 'a DNS label',
    effect: 'Names of nodes begin with this prefix instead of the name of the Cluster. It cannot be changed later.',
    data: 'none is touched',
  },
];
