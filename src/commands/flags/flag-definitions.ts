/**
 * The sub-commands of the program. The openMCP operator starts `init` as a Job and then `run` as a Deployment; users
 * start the others.
 */
export const commandDescriptions = {
  init: 'Install or update the CustomResourceDefinitions of this provider, then exit.',
  run: 'Run the controllers until SIGTERM or SIGINT.',
  hosts: 'List the servers of an account as Hosts to review and apply. Changes nothing.',
  plan: 'Show what a cluster would be made of, and which disks would be erased.',
  check: 'Show what is wrong with a ProviderConfig. Changes nothing.',
  reservations: 'Print what a DHCP server has to reserve for a ProviderConfig.',
} as const;
export type CommandName = keyof typeof commandDescriptions;

/** One flag. `--help` and `docs/reference/flags.md` are generated from these. */
export interface FlagDefinition {
  readonly short?: string;
  readonly commands: readonly CommandName[];
  /** The placeholder of its value; a flag without one is a switch that takes true or false. */
  readonly value?: string;
  /** The allowed values in lower case; compared case-insensitively. */
  readonly placeholder?: readonly string[];
  /** The default. Absent: the flag has none and may be left out, unless `required`. */
  readonly fallback?: string;
  /** The commands that require it. */
  readonly required?: readonly CommandName[];
  readonly description: string;
}

const operatorCommands: readonly CommandName[] = ['init', 'run'];
const allCommands: readonly CommandName[] = ['init', 'run', 'hosts', 'plan', 'check', 'reservations'];
const runCommandOnly: readonly CommandName[] = ['run'];
const webhookDescription = 'Taken and not used: this provider has no webhooks.';

/**
 * Every flag, by name. The set equals that of the openMCP providers, so that an operator can pass any of their flags.
 */
export const flagDefinitions = {
  environment: {
    commands: operatorCommands,
    value: 'NAME',
    required: operatorCommands,
    description: 'The environment that this provider works in. First part of the names of its ClusterProfiles.',
  },
  'provider-name': {
    commands: operatorCommands,
    value: 'NAME',
    required: operatorCommands,
    description: 'Name of the ClusterProvider object. Only ProviderConfigs and Clusters that belong to it are touched.',
  },
  kubeconfig: {
    commands: allCommands,
    value: 'PATH',
    description:
      'How to reach the platform cluster: a kubeconfig file, or a folder with a file kubeconfig, or with host, token and ca.crt. Left out: what $KUBECONFIG names, else ~/.kube/config, else the ServiceAccount of the Pod.',
  },
  verbosity: {
    short: 'v',
    commands: allCommands,
    value: 'LEVEL',
    placeholder: ['error', 'info', 'debug'],
    fallback: 'info',
    description: 'How much is logged: error, info or debug.',
  },
  format: {
    short: 'f',
    commands: allCommands,
    value: 'FORMAT',
    placeholder: ['json', 'text'],
    fallback: 'json',
    description: 'How it is logged: json or text.',
  },
  dev: {
    commands: allCommands,
    fallback: 'false',
    description: 'For development: logs text at level debug, unless told otherwise.',
  },
  cli: {
    commands: allCommands,
    fallback: 'false',
    description:
      'For people at a terminal: logs text without times and stacks. What people start does so unless told otherwise.',
  },
  'disable-stacktrace': { commands: allCommands, fallback: 'false', description: 'Logs errors without their stack.' },
  'disable-timestamp': { commands: allCommands, fallback: 'false', description: 'Logs without times.' },
  'disable-caller': {
    commands: allCommands,
    fallback: 'false',
    description: 'Taken and not used: callers are never logged.',
  },
  'dry-run': {
    commands: allCommands,
    fallback: 'false',
    description: 'Check the flags and the environment, print them, then exit.',
  },
  'with-openmcp-crds': {
    commands: ['init'],
    fallback: 'false',
    description:
      'Also install the openMCP CRDs that are missing: Cluster, ClusterProfile, AccessRequest. For platform clusters without the openMCP operator; existing CRDs are never changed.',
  },
  account: {
    commands: ['hosts'],
    value: 'SECRET',
    required: ['hosts'],
    description:
      "Name of the Secret with username and password of the webservice user, in the provider's own namespace.",
  },
  url: {
    commands: ['hosts'],
    value: 'URL',
    description: 'Address of the webservice. Left out: that of Hetzner.',
  },
  'ca-file': {
    commands: ['hosts'],
    value: 'PATH',
    description: 'File with the certificates (PEM) to trust for the webservice. Left out: the public ones.',
  },
  cluster: {
    commands: ['plan'],
    value: 'NAMESPACE/NAME',
    description:
      'The Cluster, which need not exist yet where --provider-config is given. With --config it may be left out: a name is made up.',
  },
  'provider-config': {
    commands: ['plan', 'check', 'reservations'],
    value: 'NAME',
    required: ['reservations'],
    description:
      'Name of the ProviderConfig. Left out of plan: that of the Cluster. With --config it may be left out: the only one of the file.',
  },
  config: {
    commands: ['plan', 'check'],
    value: 'FILE',
    description:
      'A file (YAML) with a ProviderConfig, to be looked at without a platform cluster. What else it holds counts too: Hosts, the Cluster, its ClusterConfigs, the Secret.',
  },
  'dhcp-server': {
    commands: ['reservations'],
    value: 'NAME',
    placeholder: ['text', 'dnsmasq', 'isc', 'kea'],
    fallback: 'text',
    description:
      'The DHCP server that reads it: dnsmasq, isc (dhcpd.conf) or kea (the list of a subnet). text is for people.',
  },
  documents: {
    commands: ['plan'],
    fallback: 'false',
    description: 'Print the configuration that each machine would be given as well, without what is secret.',
  },
  'credentials-file': {
    commands: ['plan', 'check'],
    value: 'PATH',
    description:
      'With --config: a file with the Secret of the platform, or a folder with a file for each of its keys. Left out: the environment, then the Secret of the file itself.',
  },
  'metrics-bind-address': {
    commands: runCommandOnly,
    value: 'ADDRESS',
    fallback: '0',
    description: 'Where metrics are served, e.g. :8080. 0 serves none.',
  },
  'metrics-secure': {
    commands: runCommandOnly,
    fallback: 'true',
    description:
      'Serve metrics over HTTPS, and to those alone whose bearer token the platform cluster lets get /metrics. false: over HTTP, to everybody.',
  },
  'metrics-cert-path': {
    commands: runCommandOnly,
    value: 'FOLDER',
    description: 'Folder of the certificate for metrics. Left out: one is made at the start.',
  },
  'metrics-cert-name': {
    commands: runCommandOnly,
    value: 'FILE',
    fallback: 'tls.crt',
    description: 'Name of the certificate file in that folder.',
  },
  'metrics-cert-key': {
    commands: runCommandOnly,
    value: 'FILE',
    fallback: 'tls.key',
    description: 'Name of the key file in that folder.',
  },
  'health-probe-bind-address': {
    commands: runCommandOnly,
    value: 'ADDRESS',
    fallback: ':8081',
    description: 'Where /healthz and /readyz are served. 0 serves none.',
  },
  'leader-elect': {
    commands: runCommandOnly,
    fallback: 'false',
    description: 'Taken and not needed: a Lease is always held, because two Pods overlap in every roll-out.',
  },
  controllers: {
    commands: runCommandOnly,
    value: 'LIST',
    fallback: 'providerconfig,cluster,machine,host,accessrequest',
    description: 'The controllers to run, separated by commas.',
  },
  'pprof-bind-address': {
    commands: runCommandOnly,
    value: 'ADDRESS',
    description: 'Taken and not used: profiles come from node --inspect.',
  },
  'enable-http2': {
    commands: runCommandOnly,
    fallback: 'false',
    description: 'Taken and not used: servers speak HTTP/1.1.',
  },
  'webhook-cert-path': { commands: runCommandOnly, value: 'FOLDER', description: webhookDescription },
  'webhook-cert-name': { commands: runCommandOnly, value: 'FILE', description: webhookDescription },
  'webhook-cert-key': { commands: runCommandOnly, value: 'FILE', description: webhookDescription },
} as const satisfies Record<string, FlagDefinition>;
export type FlagName = keyof typeof flagDefinitions;

/** The names of the controllers on the command line. */
export const controllerFlagValues = ['providerconfig', 'cluster', 'machine', 'host', 'accessrequest'] as const;
export type ControllerFlagValue = (typeof controllerFlagValues)[number];

/** One environment variable. */
export interface EnvironmentVariable {
  readonly commands: readonly CommandName[];
  readonly fallback: string;
  readonly description: string;
}

/** Every environment variable that is read. The operator sets the POD_ ones. */
export const environmentVariables = {
  POD_NAMESPACE: {
    commands: ['run', 'hosts', 'plan', 'check', 'reservations'],
    fallback: 'none in a Pod; elsewhere openmcp-system',
    description:
      'Namespace of the provider: credentials of platforms are read from it, secrets of clusters are kept in it.',
  },
  'CREDENTIALS_*': {
    commands: ['plan', 'check'],
    fallback: 'none',
    description:
      "With --config: the keys of the platform's Secret, each as a variable: CREDENTIALS_USERNAME, CREDENTIALS_API_KEY for apiKey.",
  },
  POD_NAME: { commands: runCommandOnly, fallback: 'the host name', description: 'Who holds the Lease.' },
  ACCESS_REQUEST_SERVICE_ACCOUNT_NAMESPACE: {
    commands: runCommandOnly,
    fallback: 'accessrequests',
    description: 'Namespace in the clusters for the ServiceAccounts that are made for AccessRequests.',
  },
} as const satisfies Record<string, EnvironmentVariable>;
export type EnvironmentVariableName = keyof typeof environmentVariables;
