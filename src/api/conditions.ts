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
  Ready: 'Everything about the object is as asked for.',
  ConfigValid: 'ProviderConfig: the spec is complete and consistent.',
  CredentialsValid: 'ProviderConfig: the platform accepts the credentials and has what the spec names.',
  ProfilePublished: 'ProviderConfig: the ClusterProfile exists and is current.',
  NotInUse: 'ProviderConfig or Host in deletion: no Cluster uses its profile, no Machine holds it any more.',
  Accepted: 'Cluster: the ProviderConfig can serve it and the Kubernetes version is offered.',
  SecretsReady: 'Cluster: its certificate authorities, keys and tokens exist.',
  MachinesReady: 'Cluster: every Machine exists, runs and has joined.',
  Bootstrapped: 'Cluster: etcd was bootstrapped, once.',
  EndpointReachable: 'Cluster: the API server answered an authenticated request just now.',
  ForeignFinalizersGone: 'Cluster in deletion: nobody else needs it any more.',
  Provisioned: 'Machine: the hardware is there and boots Talos with its configuration.',
  Joined: 'Machine: it is a healthy member of its cluster.',
  Healthy: 'Machine: the platform shows it as it was made.',
  Identified: 'Host: its provider shows the server that is meant, and lets it be used.',
  Usable: 'Host: nothing keeps it from being given to a Machine, or from serving the one that holds it.',
  Inspected: 'Host: what is in the server was found out when a person last asked for it.',
  Rebooted: 'Host: the server was rebooted, with proof, when a person last asked for it.',
  ClusterReady: 'AccessRequest: the Cluster is found and answers.',
  TrustReady: 'AccessRequest for OIDC: every control plane takes the tokens of its issuer.',
  AccessReady: 'AccessRequest: the asked-for access exists and its Secret is valid.',
} as const;
export type ConditionType = keyof typeof conditionTypes;

/** Every reason that the provider sets. Reasons are stable because alerts depend on them. */
export const conditionReasons = {
  AsExpected: 'All is well.',
  InvalidConfig: 'A field of the spec is wrong; the message names it.',
  CredentialsMissing: 'The referenced Secret or one of its keys does not exist.',
  PlatformRefused: 'The platform lacks something that the spec names, or refuses us; the message says what to do.',
  PlatformUnreachable: 'The platform does not answer. It is tried again by itself.',
  InUse: 'This is still used; the message says by whom.',
  ProviderConfigMissing: 'The ProviderConfig behind the profile does not exist or is being deleted.',
  ProviderConfigNotReady: 'The ProviderConfig behind the profile is not ready.',
  NoAddressLeft: 'All addresses of the pool are taken; the message names the field.',
  EndpointTaken: 'Another Cluster has the one fixed endpoint of the ProviderConfig.',
  VersionNotOffered: 'The wished Kubernetes version is not among those that the ProviderConfig offers.',
  VersionChangeRefused: 'The Kubernetes version cannot be changed in this way.',
  NameCollision:
    'Something of a name that the Cluster needs belongs to another Cluster, or to one that had its name before; the message says what to do.',
  NameChangeRefused: 'The names of the nodes cannot be changed.',
  InvalidClusterConfig:
    'A ClusterConfig that the Cluster names is wrong, or does not fit its ProviderConfig; the message names the field.',
  SecretsDamaged: 'The Secret that holds the secrets of the cluster cannot be read; the message says why.',
  SecretsMissing:
    'The Secret that holds the secrets of an existing cluster is gone. Nothing is made, changed or deleted until it is back; the message says what to do.',
  SecretsDiffer:
    'The Secret holds the secrets of another cluster: its Talos CA is not the recorded one. It is not used; the message says what to do.',
  WaitingForSecrets: 'The secrets are being made.',
  WaitingForMachines: 'Machines are being made or have not joined yet; the message says where they are.',
  MoreThanAsked: 'There are machines that the spec no longer asks for; the message names them.',
  WaitingForBootstrap: 'The first control plane is not ready to be bootstrapped yet.',
  WaitingForEndpoint: 'The API server does not answer yet.',
  WaitingForDeletion: 'Something else has to go first; the message names it.',
  WaitingForCluster: 'The Cluster is not ready yet. Access follows by itself.',
  WaitingForTrust:
    'Control planes are being told to trust the OIDC issuer, one after the other; the message says how far.',
  TrustRefused: 'The OIDC issuer cannot be trusted beside what the cluster trusts already; the message says why.',
  TrustFailed:
    'The API server of a control plane did not come up with what is asked for; what was in force before was put back.',
  ClusterMissing: 'The referenced Cluster does not exist.',
  InvalidReference: 'A reference of the spec does not lead anywhere.',
  SecretNotWritable: 'The Secret beside the AccessRequest is immutable or of another type; the message names it.',
  NotManaged: 'An object of this name exists and is not ours.',
  TargetRefused: 'The target cluster refused an object; the message holds its words.',
  StepWaiting: 'The current step waits; the message says for what.',
  StepFailed:
    'The current step needs a change; the message says which. Most steps give a reason or an error code of their own.',
  StepError: 'The current step failed and is tried again.',
  RefusedToErase: 'A step that erases data is not run on a machine that has joined a cluster.',
  Overdue: 'The current step takes longer than it should.',
  Releasing: 'The machine is being taken down.',
  NotIdentified: 'The server is not the one that the Host means, or cannot be used; the message says what differs.',
  NotUsed: 'No ProviderConfig uses this Host.',
  NoUsableDisk: 'No disk of the server may be used; the message says which disks there are and what would allow one.',
  SameServer: 'Another Host is for the same server.',
  InMaintenance: 'The Host is to be kept out of use, or the Machine to be left as it is.',
  PermanentError: 'Only a person can decide what becomes of the Host; the message says how.',
  MachineGone:
    'The Machine that held the Host is gone without having let it go. Only a person can decide what becomes of it.',
  InternalError: 'A fault of the provider; see its log.',
} as const;
export type ConditionReason = keyof typeof conditionReasons;

/**
 * Steps and observations of platforms have their own reasons, and errors have codes: both are listed where they are
 * defined.
 */
export const toStepReason = (reason: string): ConditionReason =>
  /^[A-Za-z][A-Za-z0-9_]*$/.test(reason) ? (reason as ConditionReason) : 'StepFailed';

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
 * changes only when the status does. Types that this version no longer writes are removed. The list is sorted by type:
 * it is a map keyed by type, and order must not cause writes.
 */
export function mergeConditions(
  old: readonly Condition[],
  states: readonly ConditionState[],
  options: { generation: number; now: Date; drop?: readonly ConditionType[] },
): Condition[] {
  const known = old.filter(({ type }) => Object.hasOwn(conditionTypes, type));
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
      lastTransitionTime:
        before?.status === state.status ? before.lastTransitionTime : `${options.now.toISOString().slice(0, 19)}Z`,
    });
  }
  return [...merged.values()].sort((a, b) => (a.type < b.type ? -1 : 1));
}

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
