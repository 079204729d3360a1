type Unit = 'short' | 's' | 'bytes' | 'percentunit' | 'ops';

/** A panel of the dashboard, without its place. */
export interface DashboardPanel {
  readonly title: string;
  readonly kind: 'stat' | 'timeseries' | 'table';
  /** What it shows and what to do about it. */
  readonly about: string;
  /** PromQL by legend. `SELECTOR` stands for the labels of the chosen provider. */
  readonly queries: Readonly<Record<string, string>>;
  readonly unit?: Unit;
  /** Stat: from this value it is red. */
  readonly alarmFrom?: number;
}

interface DashboardRow {
  readonly title: string;
  readonly panels: readonly DashboardPanel[];
}

const ours = (name: string, labels = ''): string => `cluster_provider_talos_${name}{SELECTOR${labels && `,${labels}`}}`;

const attention: DashboardRow = {
  title: 'What needs a look',
  panels: [
    {
      title: 'Clusters not ready any more',
      kind: 'stat',
      about: 'Clusters that were reachable and are not ready. `cluster-provider-talos why NAME` says why.',
      queries: { clusters: `sum(${ours('cluster_health', 'health="unhealthy"')}) or vector(0)` },
      alarmFrom: 1,
    },
    {
      title: 'Clusters with something else',
      kind: 'stat',
      about: 'Ready, and something beside the readiness is not as it should be, e.g. a backup.',
      queries: { clusters: `sum(${ours('cluster_health', 'health="attention"')}) or vector(0)` },
      alarmFrom: 1,
    },
    {
      title: 'Stuck Machines',
      kind: 'stat',
      about: 'Machines that failed, are overdue, or wait for something that a user may have to do.',
      queries: { machines: `sum(${ours('machines_stuck')}) or vector(0)` },
      alarmFrom: 1,
    },
    {
      title: 'Failing backups',
      kind: 'stat',
      about: 'Clusters whose last backup failed.',
      queries: { clusters: `sum(${ours('backup_failing_clusters')}) or vector(0)` },
      alarmFrom: 1,
    },
    {
      title: 'Failed Hosts',
      kind: 'stat',
      about: 'Hosts that wait for a decision of a user.',
      queries: { hosts: `sum(${ours('hosts', 'state="Failed"')}) or vector(0)` },
      alarmFrom: 1,
    },
    {
      title: 'Leading processes',
      kind: 'stat',
      about: 'One, except for a moment while the leadership changes.',
      queries: { leaders: 'sum(leader_election_master_status{SELECTOR})' },
    },
  ],
};

const fleet: DashboardRow = {
  title: 'Fleet',
  panels: [
    {
      title: 'Clusters by health',
      kind: 'timeseries',
      about: 'The health that the status page shows.',
      queries: { '{{health}}': `sum by (health) (${ours('cluster_health')})` },
    },
    {
      title: 'Machines by phase',
      kind: 'timeseries',
      about: 'All Machines of the provider.',
      queries: { '{{phase}}': `sum by (phase) (${ours('machines')})` },
    },
    {
      title: 'Conditions that are not true',
      kind: 'table',
      about: 'The guide describes each reason.',
      queries: { '': `sum by (kind, type, status, reason) (${ours('conditions', 'status!="True"')})` },
    },
    {
      title: 'Longest in a health',
      kind: 'timeseries',
      about: 'The Cluster that is unhealthy, in creation or in deletion for longest.',
      queries: {
        '{{provider_config}} {{health}}': `max by (provider_config, health) (${ours('cluster_health_longest_seconds')})`,
      },
      unit: 's',
    },
  ],
};

const changes: DashboardRow = {
  title: 'Rollouts, backups, certificates',
  panels: [
    {
      title: 'Machines by rollout',
      kind: 'timeseries',
      about: 'Whether running machines have the current state of their ProviderConfig.',
      queries: { '{{state}}': `sum by (state) (${ours('rollout_machines')})` },
    },
    {
      title: 'Age of the oldest change',
      kind: 'timeseries',
      about: 'The oldest change that a running machine does not have yet.',
      queries: { '{{provider_config}}': `max by (provider_config) (${ours('rollout_oldest_change_seconds')})` },
      unit: 's',
    },
    {
      title: 'Age of the oldest backup',
      kind: 'timeseries',
      about: 'Of the Cluster whose last complete backup is the oldest.',
      queries: {
        '{{provider_config}}': `time() - min by (provider_config) (${ours('backup_oldest_timestamp_seconds')})`,
      },
      unit: 's',
    },
    {
      title: 'Certificate authorities and tokens end in',
      kind: 'timeseries',
      about: 'Tokens are renewed by themselves, authorities when a user asks for it.',
      queries: {
        '{{authority}}': `min by (authority) (${ours('certificate_authority_expiry_timestamp_seconds')}) - time()`,
        'token of an AccessRequest': `min(${ours('access_token_earliest_expiry_timestamp_seconds')}) - time()`,
      },
      unit: 's',
    },
  ],
};

const supply: DashboardRow = {
  title: 'What is left',
  panels: [
    {
      title: 'Free addresses',
      kind: 'timeseries',
      about: 'Of network.addressPool, by ProviderConfig.',
      queries: { '{{provider_config}}': `max by (provider_config) (${ours('addresses_free')})` },
    },
    {
      title: 'Hosts by state',
      kind: 'timeseries',
      about: 'Servers that the provider may use.',
      queries: { '{{platform}} {{state}}': `max by (platform, state) (${ours('hosts')})` },
    },
    {
      title: 'Free memory of systems',
      kind: 'timeseries',
      about: 'What further machines can be given.',
      queries: { '{{system}}': `max by (system) (${ours('system_memory_available_bytes')})` },
      unit: 'bytes',
    },
    {
      title: 'Free share of pools',
      kind: 'timeseries',
      about: 'TrueNAS refuses a disk that needs more than four fifths of the free space.',
      queries: {
        '{{system}} {{volume}}': `max by (system, volume) (${ours('system_volume_available_bytes')}) / max by (system, volume) (${ours('system_volume_size_bytes')})`,
      },
      unit: 'percentunit',
    },
  ],
};

const work: DashboardRow = {
  title: 'Steps and calls',
  panels: [
    {
      title: 'Longest in a step',
      kind: 'timeseries',
      about: 'The Machine that is in each step for longest.',
      queries: { '{{platform}} {{plan}} {{step}}': `max by (platform, plan, step) (${ours('step_longest_seconds')})` },
      unit: 's',
    },
    {
      title: 'Steps that fail',
      kind: 'timeseries',
      about: 'Runs of steps with an error, or that need a user.',
      queries: {
        '{{platform}} {{step}} {{end}}': `sum by (platform, step, end) (rate(${ours('steps_total', 'end=~"error|fail"')}[$__rate_interval]))`,
      },
      unit: 'ops',
    },
    {
      title: 'Calls that fail',
      kind: 'timeseries',
      about: 'To platforms and nodes, by system and error code.',
      queries: {
        '{{system}} {{result}}': `sum by (system, result) (rate(${ours('calls_total', 'result!="ok"')}[$__rate_interval]))`,
      },
      unit: 'ops',
    },
    {
      title: 'Duration of calls (95 %)',
      kind: 'timeseries',
      about: 'By system. The longest are downloads and jobs.',
      queries: {
        '{{system}}': `histogram_quantile(0.95, sum by (system, le) (rate(${ours('call_duration_seconds_bucket')}[$__rate_interval])))`,
      },
      unit: 's',
    },
    {
      title: 'Remaining share of call budgets',
      kind: 'timeseries',
      about: 'Calls an hour that Hetzner Robot still allows.',
      queries: {
        '{{owner}} {{limit}}': `max by (owner, limit) (${ours('calls_remaining')}) / max by (owner, limit) (${ours('calls_hourly_budget')})`,
      },
      unit: 'percentunit',
    },
    {
      title: 'Remediations',
      kind: 'timeseries',
      about: 'Restarts and replacements of machines whose node was unhealthy.',
      queries: { '{{platform}} {{action}}': `sum by (platform, action) (increase(${ours('remediations_total')}[1h]))` },
    },
  ],
};

const provider: DashboardRow = {
  title: 'The provider itself',
  panels: [
    {
      title: 'Reconciles',
      kind: 'timeseries',
      about: 'By controller and result.',
      queries: {
        '{{controller}} {{result}}':
          'sum by (controller, result) (rate(controller_runtime_reconcile_total{SELECTOR}[$__rate_interval]))',
      },
      unit: 'ops',
    },
    {
      title: 'Duration of reconciles (95 %)',
      kind: 'timeseries',
      about: 'By controller.',
      queries: {
        '{{controller}}':
          'histogram_quantile(0.95, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket{SELECTOR}[$__rate_interval])))',
      },
      unit: 's',
    },
    {
      title: 'Waiting objects',
      kind: 'timeseries',
      about: 'Keys in the queues of the controllers.',
      queries: { '{{controller}}': 'max by (controller) (workqueue_depth{SELECTOR})' },
    },
    {
      title: 'Silence of watches',
      kind: 'timeseries',
      about: 'Time since the last event or bookmark. Above a quarter of an hour the process restarts.',
      queries: { '{{name}}': 'max by (name) (reflector_silent_seconds{SELECTOR})' },
      unit: 's',
    },
    {
      title: 'Requests to API servers',
      kind: 'timeseries',
      about: 'By server and status code.',
      queries: {
        '{{server}} {{code}}': 'sum by (server, code) (rate(rest_client_requests_total{SELECTOR}[$__rate_interval]))',
      },
      unit: 'ops',
    },
    {
      title: 'Memory',
      kind: 'timeseries',
      about: 'Resident memory of each process.',
      queries: { '{{instance}}': 'process_resident_memory_bytes{SELECTOR}' },
      unit: 'bytes',
    },
    {
      title: 'Processor',
      kind: 'timeseries',
      about: 'Cores that each process uses.',
      queries: { '{{instance}}': 'rate(process_cpu_seconds_total{SELECTOR}[$__rate_interval])' },
    },
    {
      title: 'Delay of the event loop (99 %)',
      kind: 'timeseries',
      about: 'Above a second the process does too much at once.',
      queries: { '{{instance}}': 'nodejs_eventloop_lag_p99_seconds{SELECTOR}' },
      unit: 's',
    },
  ],
};

/** What the dashboard shows, from what needs a look to the details. */
export const dashboardRows: readonly DashboardRow[] = [attention, fleet, changes, supply, work, provider];
