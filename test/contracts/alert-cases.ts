/** A series of a unit test of promtool: name, labels, and values in its notation, one a minute. */
export type InputSeries = readonly [metric: string, labels: Readonly<Record<string, string>>, values: string];

/** When an alert fires, and a case close to it in which it does not. */
export interface AlertCase {
  /** Time of the evaluation. */
  readonly at: string;
  readonly firing: readonly InputSeries[];
  /** Labels of the alert beside job, namespace and severity. */
  readonly labels: Readonly<Record<string, string>>;
  /** `$value` as its description shows it. */
  readonly shows?: string;
  readonly quiet: readonly InputSeries[];
}

const ours = (name: string, labels: Readonly<Record<string, string>>, values: string): InputSeries => [
  `cluster_provider_talos_${name}`,
  labels,
  values,
];
const home = { provider_config: 'home' };
const nas = { system: 'nas-1' };
const tank = { ...nas, volume: 'tank' };
const condition = (kind: string, type: string, status: string, reason: string, values: string): InputSeries =>
  ours('conditions', { kind, type, status, reason }, values);
const health = (name: string, values: string): InputSeries =>
  ours('cluster_health_longest_seconds', { ...home, health: name }, values);
const robot = { system: 'hetzner-robot', owner: 'robot', limit: 'POST /reset' };
const day = 86_400;

/** By the name of the alert without the common beginning. */
export const alertCases: Readonly<Record<string, AlertCase>> = {
  Absent: {
    at: '10m',
    firing: [ours('build_info', { provider: 'talos', version: '1' }, '1x2 stale')],
    labels: {},
    quiet: [ours('build_info', { provider: 'talos', version: '1' }, '1x60')],
  },
  NotLeading: {
    at: '10m',
    firing: [
      ['leader_election_master_status', { name: 'leader', pod: 'a' }, '0x60'],
      ['leader_election_master_status', { name: 'leader', pod: 'b' }, '0x60'],
    ],
    labels: {},
    quiet: [
      ['leader_election_master_status', { name: 'leader', pod: 'a' }, '0x60'],
      ['leader_election_master_status', { name: 'leader', pod: 'b' }, '1x60'],
    ],
  },
  ReconcileErrors: {
    at: '60m',
    firing: [
      ['controller_runtime_reconcile_errors_total', { controller: 'cluster' }, '0+3x90'],
      ['controller_runtime_reconcile_total', { controller: 'cluster', result: 'error' }, '0+3x90'],
      ['controller_runtime_reconcile_total', { controller: 'cluster', result: 'success' }, '0+1x90'],
    ],
    labels: { controller: 'cluster' },
    shows: '75%',
    quiet: [
      ['controller_runtime_reconcile_errors_total', { controller: 'cluster' }, '0+1x90'],
      ['controller_runtime_reconcile_total', { controller: 'cluster', result: 'error' }, '0+1x90'],
      ['controller_runtime_reconcile_total', { controller: 'cluster', result: 'success' }, '0+1x90'],
    ],
  },
  WatchSilent: {
    at: '15m',
    firing: [['reflector_silent_seconds', { name: 'machines' }, '0+60x60']],
    labels: { name: 'machines' },
    shows: '15m 0s',
    quiet: [['reflector_silent_seconds', { name: 'machines' }, '60x60']],
  },
  ConfigNotReady: {
    at: '40m',
    firing: [condition('ProviderConfig', 'Ready', 'False', 'PlatformRejected', '2x60')],
    labels: { reason: 'PlatformRejected' },
    shows: '2',
    quiet: [condition('ProviderConfig', 'Ready', 'True', 'AsExpected', '2x60')],
  },
  ClusterUnhealthy: {
    at: '20m',
    firing: [health('unhealthy', '0+60x60')],
    labels: home,
    shows: '20m 0s',
    quiet: [health('attention', '0+60x60'), health('unhealthy', '0+60x10 stale')],
  },
  ClusterCreationSlow: {
    at: '150m',
    firing: [health('creating', '0+60x200')],
    labels: home,
    shows: '2h 30m 0s',
    quiet: [health('creating', '0+60x100 0x100')],
  },
  ClusterDeletionSlow: {
    at: '150m',
    firing: [health('deleting', '0+60x200')],
    labels: home,
    shows: '2h 30m 0s',
    quiet: [health('deleting', '0+60x100 0x100')],
  },
  EtcdSpaceLow: {
    at: '15m',
    firing: [condition('Cluster', 'EtcdHasSpace', 'False', 'EtcdFull', '1x60')],
    labels: { reason: 'EtcdFull' },
    shows: '1',
    quiet: [condition('Cluster', 'EtcdHasSpace', 'True', 'AsExpected', '1x60')],
  },
  RemediationStopped: {
    at: '10m',
    firing: [condition('Cluster', 'NodesHealthy', 'False', 'RemediationStopped', '1x60')],
    labels: {},
    shows: '1',
    quiet: [condition('Cluster', 'NodesHealthy', 'False', 'Remediating', '1x60')],
  },
  AccessTokenExpiring: {
    at: '20m',
    firing: [ours('access_token_earliest_expiry_timestamp_seconds', {}, `${2 * day + 1200}x60`)],
    labels: {},
    shows: '2d 0h 0m 0s',
    quiet: [ours('access_token_earliest_expiry_timestamp_seconds', {}, `${6 * day}x60`)],
  },
  MachineStuck: {
    at: '40m',
    firing: [ours('machines_stuck', home, '3x60')],
    labels: home,
    shows: '3',
    quiet: [ours('machines_stuck', home, '3x15 0x45')],
  },
  StepSlow: {
    at: '150m',
    firing: [
      ours('step_longest_seconds', { platform: 'truenas', plan: 'provision', step: 'await-member' }, '0+60x200'),
    ],
    labels: { platform: 'truenas', plan: 'provision', step: 'await-member' },
    shows: '2h 30m 0s',
    quiet: [ours('step_longest_seconds', { platform: 'truenas', plan: 'provision', step: 'await-member' }, '0+20x200')],
  },
  HostFailed: {
    at: '20m',
    firing: [ours('hosts', { platform: 'hetznerRobot', state: 'Failed' }, '1x60')],
    labels: { platform: 'hetznerRobot' },
    shows: '1',
    quiet: [ours('hosts', { platform: 'hetznerRobot', state: 'Provisioned' }, '1x60')],
  },
  RolloutFailed: {
    at: '10m',
    firing: [ours('rollout_machines', { ...home, state: 'failed' }, '1x60')],
    labels: home,
    shows: '1',
    quiet: [ours('rollout_machines', { ...home, state: 'waiting' }, '1x60')],
  },
  RolloutPaused: {
    at: '25h',
    firing: [ours('rollout_state', { ...home, state: 'paused' }, '1x1600')],
    labels: home,
    shows: '1',
    quiet: [ours('rollout_state', { ...home, state: 'paused' }, '1x600 0x1000')],
  },
  RolloutStuck: {
    at: '200m',
    firing: [
      ours('rollout_machines', { ...home, state: 'updating' }, '1x300'),
      ours('rollout_machines', { ...home, state: 'up-to-date' }, '4x300'),
    ],
    labels: home,
    shows: '1',
    quiet: [
      ours('rollout_machines', { ...home, state: 'updating' }, '1x300'),
      ours('rollout_machines', { ...home, state: 'up-to-date' }, '4x100 5x200'),
    ],
  },
  BackupFailing: {
    at: '40m',
    firing: [ours('backup_failing_clusters', home, '2x60')],
    labels: home,
    shows: '2',
    quiet: [ours('backup_failing_clusters', home, '2x20 0x40')],
  },
  BackupOverdue: {
    at: '20m',
    firing: [condition('Cluster', 'BackedUp', 'False', 'BackupOverdue', '1x60')],
    labels: {},
    shows: '1',
    quiet: [condition('Cluster', 'BackedUp', 'False', 'BackupPending', '1x60')],
  },
  BackupTooOld: {
    at: '20m',
    firing: [ours('backup_oldest_timestamp_seconds', home, `${-9 * day + 1200}x60`)],
    labels: home,
    shows: '9d 0h 0m 0s',
    quiet: [ours('backup_oldest_timestamp_seconds', home, `${-7 * day}x60`)],
  },
  RestoreFailed: {
    at: '5m',
    firing: [ours('restore_failed_clusters', home, '1x60')],
    labels: home,
    shows: '1',
    quiet: [ours('restore_failed_clusters', home, '0x60')],
  },
  CertificateAuthorityExpiring: {
    at: '70m',
    firing: [
      ours('certificate_authority_expiry_timestamp_seconds', { ...home, authority: 'etcd' }, `${80 * day + 4200}x90`),
      ours('certificate_authority_expiry_timestamp_seconds', { ...home, authority: 'talos' }, `${900 * day}x90`),
    ],
    labels: { ...home, authority: 'etcd' },
    shows: '80d 0h 0m 0s',
    quiet: [ours('certificate_authority_expiry_timestamp_seconds', { ...home, authority: 'etcd' }, `${95 * day}x90`)],
  },
  AddressesUsedUp: {
    at: '20m',
    firing: [ours('addresses_free', home, '0x60')],
    labels: home,
    shows: '0',
    quiet: [ours('addresses_free', home, '1x60')],
  },
  SystemUnreachable: {
    at: '40m',
    firing: [ours('system_reachable', nas, '0x60')],
    labels: nas,
    shows: '0',
    quiet: [ours('system_reachable', nas, '0x20 1x40')],
  },
  SystemMemoryLow: {
    at: '40m',
    firing: [ours('system_memory_available_bytes', nas, `${2 * 2 ** 30}x60`)],
    labels: nas,
    shows: '2Gi',
    quiet: [ours('system_memory_available_bytes', nas, `${5 * 2 ** 30}x60`)],
  },
  SystemSpaceLow: {
    at: '40m',
    firing: [ours('system_volume_available_bytes', tank, '15x60'), ours('system_volume_size_bytes', tank, '100x60')],
    labels: tank,
    shows: '15%',
    quiet: [ours('system_volume_available_bytes', tank, '25x60'), ours('system_volume_size_bytes', tank, '100x60')],
  },
  SystemVolumeUnhealthy: {
    at: '15m',
    firing: [ours('system_volume_healthy', tank, '0x60')],
    labels: tank,
    shows: '0',
    quiet: [ours('system_volume_healthy', tank, '1x60')],
  },
  CallBudgetLow: {
    at: '20m',
    firing: [ours('calls_remaining', robot, '4x60'), ours('calls_hourly_budget', robot, '50x60')],
    labels: robot,
    shows: '8%',
    quiet: [ours('calls_remaining', robot, '5x60'), ours('calls_hourly_budget', robot, '50x60')],
  },
};
