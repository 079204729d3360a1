import type { ConditionReason } from '../../api/conditions.ts';

const nothing = 'Nothing: it goes on by itself.';
const message = 'Do what the message says.';
const retried = 'Nothing at first: it is retried. If it stays, do what the message says.';
const restoreSecret = 'Restore the Secret of the cluster.';
const approve = 'Read in the message what is lost, and approve it if you want that.';
const decideAboutHost = 'Decide about the further use of the Host, as the message describes.';

/** What a user does next, for each reason of a condition. `docs/troubleshoot.md` has more about each. */
const nextSteps: Readonly<Record<ConditionReason, string>> = {
  AsExpected: 'Nothing.',
  InvalidConfig: 'Correct the field that the message names.',
  CredentialsMissing: 'Create the Secret, with the keys that the message names, in the namespace of the provider.',
  PlatformRejected: message,
  PlatformUnreachable:
    'Nothing at first: it is retried. If it stays, check that the platform runs and that the provider reaches it.',
  InUse: 'Delete the objects that the message names, if nobody needs them.',
  ProviderConfigMissing: 'Create the ProviderConfig again, or delete the Cluster.',
  ProviderConfigNotReady: 'Correct the ProviderConfig: its conditions name the field.',
  AddressPoolExhausted: 'Enlarge network.addressPool of the ProviderConfig, or delete a Cluster.',
  EndpointInUse: 'Delete the Cluster that uses the endpoint, or use another profile.',
  VersionNotOffered: 'Use a version that the message names, or leave spec.kubernetes.version out.',
  VersionChangeRejected: message,
  NameCollision: message,
  NameChangeRejected: 'Set the annotation node-prefix back to its former value.',
  InvalidClusterConfig: 'Correct the field of the ClusterConfig that the message names.',
  SecretsDamaged: restoreSecret,
  SecretsMissing: restoreSecret,
  SecretsDiffer: restoreSecret,
  WaitingForSecrets: nothing,
  NotAdopted: 'Run the command adopt, as the message shows it.',
  ManagedByOthers: 'Nothing: those who manage the nodes change them.',
  WaitingForMachines: nothing,
  ReplicasOutOfRange: 'Change spec.replicas of the NodePool, or minReplicas or maxReplicas of the worker pool.',
  WaitingForBootstrap: nothing,
  WaitingForEndpoint:
    'Nothing at first. If it stays, check that the control planes run and that the provider reaches the endpoint.',
  AccessNotRemoved: 'Bring the API server back, or approve it.',
  WaitingForDeletion: 'Nothing, unless the object that the message names stays.',
  WaitingForCluster: nothing,
  WaitingForTrust: nothing,
  TrustRejected: 'Change spec.oidc of the AccessRequest as the message says.',
  TrustFailed: 'Change spec.oidc of the AccessRequest as the message says.',
  ClusterMissing: 'Create the Cluster, or create an AccessRequest for another one.',
  InvalidReference: 'Correct the reference that the message names.',
  SecretNotWritable: 'Delete the Secret that the message names.',
  NotManaged: 'Delete the object that the message names, or use another name.',
  TargetRejected: message,
  StepWaiting: nothing,
  StepFailed: message,
  StepError: retried,
  EraseRejected: 'Nothing: this is a safeguard. To have the machine created anew, delete the Machine.',
  Overdue: 'Look at the console of the machine, and at the platform. The step is still being tried.',
  Releasing: nothing,
  UpdatePending: nothing,
  Updating: nothing,
  UpdateFailed: message,
  UpgradeFellBack: message,
  UpgradeBlocked: message,
  DeprecatedApisInUse: 'Change the clients that the message names, or approve the upgrade.',
  ImageNotPulled: message,
  ManifestsRejected: message,
  ReplacementRequired: 'Nothing, unless the message says what it waits for.',
  ChangeRefused: message,
  EtcdSpaceLow: message,
  EtcdFull: message,
  EtcdCorrupt: message,
  NodeNotReady: 'Nothing at first. If it stays, read the logs of the kubelet of the node.',
  NodeUnreachable: 'Nothing at first. If it stays, look at the console of the machine.',
  MachineLost: 'Nothing where the remediation replaces it. Otherwise delete the Machine: another one takes its place.',
  NodeNotObserved: 'Nothing at first. If it stays, check what the message names.',
  Remediating: nothing,
  RemediationPending: nothing,
  RemediationStopped: message,
  RolloutPaused: 'Remove the annotation rollout: pause, when the changes may go on.',
  OutsideWindow: 'Nothing: the changes begin in the window that the message names.',
  Rotating: nothing,
  RotationPending: nothing,
  RotationRefused: message,
  BackupPending: 'Nothing: the schedule says when.',
  BackupFailed: retried,
  BackupOverdue: 'Nothing at first. If it stays, read the log of the controller backup.',
  RestoreRejected: message,
  RestoreWaiting: 'Bring the control planes that the message names back, or delete the Machines of lost ones.',
  RestoreNotApproved: approve,
  EtcdHasQuorum: 'Remove the annotation restore, and repair single nodes.',
  Restoring: nothing,
  RestoreFailed: message,
  NotIdentified: 'Correct spec.expect of the Host, or the server, as the message says.',
  NotUsed: 'Nothing, or create a ProviderConfig that uses the Host.',
  NoUsableDisk: message,
  SameServer: 'Delete one of the two Hosts.',
  InMaintenance: 'End the maintenance when the object may be used again.',
  PermanentError: decideAboutHost,
  MachineGone: decideAboutHost,
  InternalError: 'Read the log of the provider, and report it: this is a bug.',
};

/** What a user does next. Steps of platforms have reasons of their own, whose messages describe the remedy. */
export function nextStepFor(reason: string | undefined): string {
  if (reason === undefined) return 'Nothing at first. If it stays, read the log of the provider.';
  return Object.hasOwn(nextSteps, reason) ? nextSteps[reason as ConditionReason] : message;
}
