import { isFutureTime } from '../lib/recorded-time.ts';
import { formatTime } from '../lib/text.ts';

/** A Kubernetes condition. All conditions of this provider have positive polarity: `True` is good. */
export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number | undefined;
}

/** A condition as a controller reports it; {@link mergeConditions} stamps time and generation. */
export interface ConditionState {
  readonly type: ConditionType;
  readonly status: Condition['status'];
  readonly reason: ConditionReason;
  readonly message?: string;
}

/** Every condition type and what `True` means. The table in `docs/reference` is generated from here. */
export const conditionTypes = {
  Ready: 'The object is in its desired state.',
  ConfigValid: 'ProviderConfig: the spec is complete and consistent.',
  CredentialsValid: 'ProviderConfig: the platform accepts the credentials and has the resources that the spec names.',
  ProfilePublished: 'ProviderConfig: the ClusterProfile exists and is up to date.',
  NotInUse: 'ProviderConfig in deletion: no Cluster uses its profile. Host in deletion: no Machine holds it.',
  Accepted: 'Cluster: the ProviderConfig can serve it and offers the Kubernetes version.',
  SecretsReady: 'Cluster: its certificate authorities, keys and tokens exist.',
  MachinesReady: 'Cluster: every Machine exists, runs and has joined.',
  Bootstrapped: 'Cluster: etcd was bootstrapped, once.',
  EndpointReachable: 'Cluster: the API server answered the last authenticated request.',
  EtcdHasSpace: 'Cluster: the databases of etcd are far from their limit, and have no alarm.',
  ForeignFinalizersGone: 'Cluster in deletion: no finalizer of another controller is left.',
  Provisioned: 'Machine: the hardware exists and boots Talos with its configuration.',
  Joined: 'Machine: it is a healthy member of its cluster.',
  Healthy: 'Machine: it matches its desired state on the platform.',
  NodeHealthy:
    'Machine: the cluster reports its Node as Ready. Unknown: the platform or the API server of the cluster cannot be asked, or the machine is off.',
  NodesHealthy: 'Cluster: every node is healthy. The message says what is done with one that is not.',
  UpToDate:
    'Machine or Cluster: the running nodes have the configuration and versions that their ProviderConfig and ClusterConfigs ask for.',
  CertificateAuthoritiesRotated:
    'Cluster for which a rotation was requested: every requested rotation of a certificate authority is finished. It is no part of Ready.',
  BackedUp: 'Cluster with spec.backup: the last scheduled backup is complete. It is no part of Ready.',
  EtcdRestored:
    'Cluster with the annotation restore: etcd was restored from the backup that it names. It is no part of Ready.',
  Published:
    'Cluster with spec.publish: other controllers find it in every form of its ProviderConfig, with valid credentials. It is no part of Ready.',
  WithinLimits: 'NodePool: spec.replicas is between minReplicas and maxReplicas of the worker pool.',
  Identified: 'Host: the server exists and may be used.',
  Usable: 'Host: a Machine can claim it, or holds it.',
  Inspected: 'Host: the last requested inspection succeeded.',
  Rebooted: 'Host: the last requested reboot was verified.',
  ClusterReady: 'AccessRequest: the Cluster exists and its API server answers.',
  TrustReady: 'AccessRequest for OIDC: every control plane accepts the tokens of its issuer.',
  AccessReady: 'AccessRequest: the requested access exists and its Secret is valid.',
} as const;
export type ConditionType = keyof typeof conditionTypes;

/** Every reason that the provider sets. Reasons are stable because alerts depend on them. */
export const conditionReasons = {
  AsExpected: 'The condition is `True`.',
  InvalidConfig: 'A field of the spec is invalid; the message names it.',
  CredentialsMissing: 'The referenced Secret or one of its keys does not exist.',
  PlatformRejected:
    'The platform lacks a resource that the spec names, or rejects the credentials; the message describes the remedy.',
  PlatformUnreachable: 'The platform does not answer. The provider retries.',
  InUse: 'The object is still in use; the message names the users.',
  ProviderConfigMissing: 'The ProviderConfig behind the profile does not exist or is being deleted.',
  ProviderConfigNotReady: 'The ProviderConfig behind the profile is not ready.',
  AddressPoolExhausted: 'All addresses of the pool are assigned; the message names the field.',
  EndpointInUse: 'Another Cluster uses the one fixed endpoint of the ProviderConfig.',
  VersionNotOffered: 'The ProviderConfig does not offer the desired Kubernetes version.',
  VersionChangeRejected: 'The Kubernetes version cannot be changed in this way; the message has the remedy.',
  NameCollision:
    'An object with a name that the Cluster needs belongs to another Cluster, or to an earlier one of the same name; the message describes the remedy.',
  NameChangeRejected: 'The names of the nodes cannot be changed.',
  InvalidClusterConfig:
    'A ClusterConfig of the Cluster is invalid, or does not fit its ProviderConfig; the message names the field.',
  SecretsDamaged: 'The Secret with the secrets of the cluster cannot be read; the message says why.',
  SecretsMissing:
    'The Secret with the secrets of an existing cluster is missing. Nothing is created, changed or deleted until it is restored; the message describes the remedy.',
  SecretsDiffer:
    'The Secret has the secrets of another cluster: its Talos CA is not the recorded one. It is not used; the message describes the remedy.',
  WaitingForSecrets: 'The secrets are being created.',
  NotAdopted: 'The cluster is made by others and was not adopted yet; the message has the command.',
  ManagedByOthers:
    'Others make and change the nodes. The provider reports their state, grants access and takes backups, and changes none of them.',
  WaitingForMachines: 'Machines are being created or have not joined yet; the message shows their progress.',
  ReplicasOutOfRange:
    'The field spec.replicas is not between minReplicas and maxReplicas; the nearest of the two counts, as the message says.',
  WaitingForBootstrap: 'The first control plane is not ready to be bootstrapped yet.',
  WaitingForEndpoint: 'The API server does not answer yet.',
  AccessNotRemoved:
    'A Cluster that was adopted is being deleted, and its API server does not answer, so that the accounts and roles of AccessRequests stay in it. A user can approve that.',
  WaitingForDeletion: 'Another object must be deleted first; the message names it.',
  WaitingForCluster: 'The Cluster is not ready yet. The request is retried.',
  WaitingForTrust:
    'The OIDC issuer is being rolled out to the control planes, one at a time; the message has the progress.',
  TrustRejected: 'The OIDC issuer conflicts with the issuers that the cluster trusts already; the message says why.',
  TrustFailed:
    'The API server of a control plane did not start with the new configuration; the previous one was restored.',
  ClusterMissing: 'The referenced Cluster does not exist.',
  InvalidReference: 'A reference of the spec is invalid.',
  SecretNotWritable: 'The Secret beside the AccessRequest is immutable or has another type; the message names it.',
  NotManaged: 'An object of this name exists and has another owner.',
  TargetRejected: 'The target cluster rejected an object; the message quotes it.',
  StepWaiting: 'The current step is waiting; the message names the cause.',
  StepFailed:
    'The current step needs a change by a user, described in the message. Most steps have reasons or error codes of their own.',
  StepError: 'The current step failed and is retried.',
  EraseRejected: 'A step that erases data does not run on a machine that has joined a cluster.',
  Overdue: 'The current step takes longer than expected.',
  Releasing: 'The machine is being deleted.',
  UpdatePending: 'A change is not applied yet; the message says what it waits for.',
  Updating: 'A change is being applied to a running node; the message has the progress.',
  UpdateFailed:
    'A change could not be applied to a running node; the message says why. Other nodes are not changed meanwhile.',
  UpgradeFellBack:
    'The node did not start with its new Talos and has gone back to the former one. It is not tried again by itself; the message describes the remedy.',
  UpgradeBlocked:
    'Kubernetes is not upgraded, because something would break; the message names it and the remedy. Nothing was changed.',
  DeprecatedApisInUse:
    'Kubernetes is not upgraded, because clients request APIs that the next version does not have; the message names them. A user can approve the upgrade.',
  ImageNotPulled:
    'Kubernetes is not upgraded, because a node cannot pull an image of it; the message quotes the node. Nothing was changed.',
  ManifestsRejected:
    'Every machine runs the new Kubernetes, and the API server rejects a bootstrap manifest; the message names it.',
  ReplacementRequired: 'A change needs another machine in place of this one.',
  ChangeRefused: 'A change cannot be made to existing machines; the message names the field and the remedy.',
  EtcdSpaceLow: 'The databases of etcd are nearly full; the message has their size, and the remedy.',
  EtcdFull: 'A member of etcd has the alarm NOSPACE, and etcd refuses writes; the message describes the remedy.',
  EtcdCorrupt: 'A member of etcd has the alarm CORRUPT; the message names the member, and the remedy.',
  NodeNotReady: 'The cluster does not report the Node as Ready, although Talos answers on it.',
  NodeUnreachable: 'The cluster does not report the Node as Ready, and Talos does not answer on it.',
  MachineLost: 'The machine and its system disks do not exist any more.',
  NodeNotObserved: 'Whether the node is healthy is not known; the message says why.',
  Remediating: 'An unhealthy node is being restarted or replaced; the message names it.',
  RemediationPending: 'An unhealthy node is not restarted or replaced yet; the message says what that waits for.',
  RemediationStopped:
    'Nothing more is done for an unhealthy node before a user acts; the message says why, and describes the remedy.',
  RolloutPaused: 'The annotation rollout: pause holds the changes up.',
  OutsideWindow: 'Changes wait for the next window of spec.rollout.windows; the message has its time.',
  Rotating: 'A certificate authority is being rotated; the message has the step, and what the next one waits for.',
  RotationPending: 'The rotation of a certificate authority has not begun; the message says what it waits for.',
  RotationRefused:
    'The annotation rotate-ca has an unknown value, or others manage the nodes; the message describes the remedy.',
  BackupPending: 'No backup is due yet since the Cluster was created.',
  BackupFailed:
    'The last backup failed, and nothing of it was kept. It is tried again; the message has the cause and the remedy.',
  BackupOverdue: 'A backup has been due for more than an hour and has not begun.',
  RestoreRejected:
    'Etcd is not restored, because the request cannot be met; the message names the field and the remedy. Nothing was changed.',
  RestoreWaiting:
    'Whether etcd may be restored cannot be told; the message names the control planes. Nothing was changed.',
  RestoreNotApproved:
    'The backup can be restored, and a user has to approve it; the message says what is lost. Nothing was changed.',
  EtcdHasQuorum:
    'Etcd works, and the restore of a backup would destroy what it holds; the message says what is lost. Nothing was changed.',
  Restoring: 'Etcd is being restored from a backup; the message has the progress.',
  RestoreFailed: 'A control plane could not restore the snapshot; the message says why, and describes the remedy.',
  PublishPending: 'The Cluster is published once it has been ready for a short time.',
  NamespaceMissing:
    'The namespace in which a Cluster is to be published does not exist; the message names the field and the namespace.',
  CrdMissing:
    'A CustomResourceDefinition that publication needs is not installed; the message names it, the cluster, and the remedy.',
  ClusterRoleMissing: 'The ClusterRole for the published account does not exist in the cluster; the message names it.',
  PublishRejected: 'The platform cluster rejected a published object; the message quotes it.',
  Withdrawing: 'What was published is being deleted; the message says what it waits for.',
  WithdrawalHeld: 'A consumer holds a published object with its finalizer; the message names both.',
  NotIdentified:
    'The server is not the one that the Host describes, or cannot be used; the message names the difference.',
  NotUsed: 'No ProviderConfig uses this Host.',
  NoUsableDisk: 'No disk of the server may be used; the message lists the disks and the reasons.',
  SameServer: 'Another Host describes the same server.',
  InMaintenance: 'The Host is in maintenance, or the Machine has the maintenance annotation.',
  PermanentError: 'A user has to decide about the further use of the Host, as described in the message.',
  MachineGone:
    'The Machine that held the Host was deleted without releasing it. A user has to decide about the further use of the Host.',
  InternalError: 'A bug of the provider; see its log.',
} as const;
export type ConditionReason = keyof typeof conditionReasons;

/**
 * Steps and observations of platforms have their own reasons, and errors have codes: both are listed where they are
 * defined.
 */
export const toStepReason = (reason: string): ConditionReason =>
  /^[A-Za-z][A-Za-z0-9_]*$/.test(reason) ? (reason as ConditionReason) : 'StepFailed';

/** A running node could not be brought to its desired state: nothing else is changed before a user acts. */
export const isUpdateFailure = (reason: string | undefined): boolean =>
  reason === 'UpdateFailed' || reason === 'UpgradeFellBack';

export const conditionTrue = (type: ConditionType, message = ''): ConditionState => ({
  type,
  status: 'True',
  reason: 'AsExpected',
  message,
});
export const conditionFalse = (type: ConditionType, reason: ConditionReason, message: string): ConditionState => ({
  type,
  status: 'False',
  reason,
  message,
});
export const conditionUnknown = (type: ConditionType, reason: ConditionReason, message: string): ConditionState => ({
  type,
  status: 'Unknown',
  reason,
  message,
});

const maxMessageLength = 4096;

/**
 * The new condition list. Old conditions stay unless they are restated or listed in `drop`. `lastTransitionTime`
 * changes only when the status does, or where it is in the future. Types that this version no longer writes are removed. The
 * list is sorted by type: it is a map keyed by type, and order must not cause writes.
 */
export function mergeConditions(
  old: readonly Condition[],
  states: readonly ConditionState[],
  options: { generation: number; now: Date; drop?: readonly ConditionType[] },
): Condition[] {
  const known = old
    .filter(({ type }) => Object.hasOwn(conditionTypes, type))
    .map((condition) => correctTransitionTime(condition, options.now));
  const merged = new Map(known.map((condition) => [condition.type, condition]));
  for (const type of options.drop ?? []) merged.delete(type);
  for (const state of states) {
    const before = merged.get(state.type);
    merged.set(state.type, {
      type: state.type,
      status: state.status,
      reason: state.reason,
      message: (state.message ?? '').slice(0, maxMessageLength),
      observedGeneration: options.generation,
      lastTransitionTime: before?.status === state.status ? before.lastTransitionTime : formatTime(options.now),
    });
  }
  return [...merged.values()].sort((a, b) => (a.type < b.type ? -1 : 1));
}

/** Waits count from this time, and a clock that was set back must not prolong them. */
export const correctTransitionTime = (condition: Condition, now: Date): Condition =>
  isFutureTime(condition.lastTransitionTime, now) ? { ...condition, lastTransitionTime: formatTime(now) } : condition;

/** `Ready` as the summary of the others: the first condition that is not True gives its reason and message. */
export function summarizeReady(states: readonly ConditionState[]): ConditionState {
  const blocking = states.find((state) => state.status !== 'True');
  return blocking
    ? { type: 'Ready', status: blocking.status, reason: blocking.reason, message: blocking.message ?? '' }
    : conditionTrue('Ready');
}

/** The first condition that is False, if any. */
export const findFalseCondition = (
  conditions: readonly Condition[] | undefined,
  type: ConditionType,
): Condition | undefined => conditions?.find((condition) => condition.type === type && condition.status === 'False');

export const isConditionTrue = (conditions: readonly Condition[] | undefined, type: ConditionType): boolean =>
  conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
