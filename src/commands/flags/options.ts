import { Argument, Option } from 'commander';
import { talosRoles } from '../../talos/secrets/talos-role.ts';
import { reservationFormats } from '../output/reservation-formats.ts';
import {
  backupsActions,
  controllerFlagValues,
  kubeconfigRoles,
  parseAddresses,
  parseBindAddress,
  parseBoolean,
  parseChoice,
  parseClusterName,
  parseControllers,
  parseGroups,
  parseHttpUrl,
  parseIdentityPath,
  parseName,
  parseObject,
  parseRecipients,
  parseRequiredText,
  parseTtl,
  shells,
} from './option-values.ts';

/**
 * The sub-commands of the program. The openMCP operator starts `init` as a Job and then `run` as a Deployment; users
 * start the others.
 */
export const commandDescriptions = {
  init: 'Install or update the CustomResourceDefinitions and the admission policy of this provider, then exit.',
  run: 'Run the controllers until SIGTERM or SIGINT.',
  hosts: 'Print a Host manifest for each server of an account, to review and apply. Read-only.',
  plan: 'Print the resources that a cluster would use, the disks that would be erased, and the changes of running machines. Read-only.',
  check: 'Validate a ProviderConfig against its platform. Read-only.',
  reservations: 'Print the DHCP reservations for the nodes of a ProviderConfig. Read-only.',
  status: 'Print every Cluster with its health, versions and backups, or watch them. Read-only.',
  why: 'Print what a Cluster, Machine, Host or AccessRequest waits for, and what to do. Read-only.',
  'support-bundle':
    'Write an archive with objects, Events, logs and versions, without secrets, for those who help you. Read-only.',
  talosconfig:
    'Print a short-lived talosconfig of a cluster, for users who may read its Secret. Records an Event on the Cluster.',
  kubeconfig:
    'Print a short-lived kubeconfig of a cluster, for users who may read its Secret. Records an Event on the Cluster.',
  backups: 'List, verify or fetch the scheduled backups in the bucket of a ProviderConfig. Read-only.',
  backup:
    'Write an encrypted snapshot of etcd, and the encrypted Secrets and other objects of a cluster, to a folder, for users who may read its Secret. Records an Event on the Cluster.',
  import:
    'Create the objects of a cluster from a fetched backup, on a platform cluster that takes the place of a lost one. No machine is touched.',
  adopt:
    'Put a Talos cluster that others have made under a Cluster of the platform external, for access, backups and its state. No node is changed.',
  completion: 'Print a script for a shell that completes the commands and flags of this program.',
} as const;
export type CommandName = keyof typeof commandDescriptions;
export const commandNames = Object.keys(commandDescriptions) as readonly CommandName[];

const text = (flags: string, description: string) => new Option(flags, description);
const requiredText = (flags: string, description: string) =>
  text(flags, description).argParser(parseRequiredText).makeOptionMandatory();
const choice = (flags: string, choices: readonly string[], description: string) =>
  text(flags, description).choices(choices).argParser(parseChoice(choices));
const toggle = (name: string, description: string, fallback = false) =>
  text(`${name} [bool]`, description).argParser(parseBoolean).default(fallback);
/** Flags of the other openMCP providers: an operator can pass them to any provider. */
const ignored = (option: Option) =>
  option.helpGroup('Accepted without effect, for compatibility with other providers:');

const name = (flags: string, description: string) =>
  text(flags, description).argParser(parseName).makeOptionMandatory();
const operatorOptions = [
  name('--environment <NAME>', 'Name of the environment; the first part of the names of the ClusterProfiles.'),
  name(
    '--provider-name <NAME>',
    'Name of the ClusterProvider object. Only ProviderConfigs and Clusters that belong to it are reconciled.',
  ),
];

const commonOptions = [
  text(
    '--kubeconfig <PATH>',
    'Access to the platform cluster: a kubeconfig file, or a folder with the file kubeconfig or the files host, token and ca.crt. Default: $KUBECONFIG, ~/.kube/config, or the ServiceAccount of the Pod, in this order.',
  ),
  choice('-v, --verbosity <LEVEL>', ['error', 'info', 'debug'], 'Log level: error, info or debug.').default('info'),
  choice('-f, --format <FORMAT>', ['json', 'text'], 'Log format: json or text.').default('json'),
  toggle('--dev', 'Development mode: log as text at level debug, unless --format or --verbosity is set.'),
  toggle(
    '--cli',
    'Terminal mode: log as text without timestamps and stack traces, unless --format is set. Default for all commands except init and run.',
  ),
  toggle('--disable-stacktrace', 'Log errors without stack traces.'),
  toggle('--disable-timestamp', 'Log without timestamps.'),
  ignored(toggle('--disable-caller', 'No effect: callers are never logged.')),
  toggle('--dry-run', 'Validate and print the flags and environment variables, then exit.'),
];

const webhookDescription = 'No effect: this provider has no webhooks.';
const runOptions = [
  text('--metrics-bind-address <ADDRESS>', 'Address of the metrics endpoint, e.g. :8080. 0 disables it.')
    .argParser(parseBindAddress)
    .default(null, '0'),
  toggle(
    '--metrics-secure',
    'Serve metrics over HTTPS, and only to clients whose bearer token is authorized to get /metrics on the platform cluster. false: over HTTP, without authorization.',
    true,
  ),
  text(
    '--metrics-cert-path <FOLDER>',
    'Folder with the certificate of the metrics endpoint. Default: a self-signed certificate is generated at startup.',
  ),
  text('--metrics-cert-name <FILE>', 'Name of the certificate file in --metrics-cert-path.').default('tls.crt'),
  text('--metrics-cert-key <FILE>', 'Name of the key file in --metrics-cert-path.').default('tls.key'),
  text('--health-probe-bind-address <ADDRESS>', 'Address of /healthz and /readyz. 0 disables them.')
    .argParser(parseBindAddress)
    .default({ host: '', port: 8081 }, ':8081'),
  text(
    '--autoscaler-bind-address <ADDRESS>',
    'Address for cluster-autoscaler (externalgrpc), e.g. :8086. Only the leader listens. 0 disables it.',
  )
    .argParser(parseBindAddress)
    .default(null, '0'),
  text(
    '--autoscaler-cert-path <FOLDER>',
    'With --autoscaler-bind-address: folder with tls.crt, tls.key and ca.crt, the authority of the client certificates. The files are read again when they change.',
  ),
  text(
    '--status-bind-address <ADDRESS>',
    'Address of the status page. A loopback address, e.g. 127.0.0.1:8082: over HTTP, without authorization, for kubectl port-forward. Any other one, e.g. :8082: over HTTPS, and only to clients whose bearer token is authorized to list what the page shows. 0 disables it.',
  )
    .argParser(parseBindAddress)
    .default(null, '0'),
  text(
    '--status-cert-path <FOLDER>',
    'Folder with tls.crt and tls.key of the status page. Default: a self-signed certificate is generated at startup. No effect with a loopback address.',
  ),
  text(
    '--otlp-endpoint <URL>',
    'OTLP receiver for traces over HTTP, e.g. http://collector:4318: one trace for each Cluster, from its creation to ready, with its steps and calls. 0 or nothing: no traces.',
  ).argParser(parseHttpUrl),
  ignored(
    toggle('--leader-elect', 'No effect: leader election is always on, because two Pods overlap in every rollout.'),
  ),
  text('--controllers <LIST>', 'Comma-separated list of the controllers to run.')
    .argParser(parseControllers)
    .default(controllerFlagValues, controllerFlagValues.join(',')),
  ignored(text('--pprof-bind-address <ADDRESS>', 'No effect: use node --inspect for profiles.')),
  ignored(toggle('--enable-http2', 'No effect: the endpoints use HTTP/1.1.')),
  ignored(text('--webhook-cert-path <FOLDER>', webhookDescription)),
  ignored(text('--webhook-cert-name <FILE>', webhookDescription)),
  ignored(text('--webhook-cert-key <FILE>', webhookDescription)),
];

const providerConfigFlag = '--provider-config <NAME>';
const providerConfigDescription =
  'Name of the ProviderConfig. Default: with --config, the only one in the file; for plan, the ProviderConfig of the Cluster.';
const fileOptions = [
  text(providerConfigFlag, providerConfigDescription),
  text(
    '--config <FILE>',
    'YAML file with a ProviderConfig, to run without a platform cluster. It can also contain Hosts, the Cluster, its ClusterConfigs and the Secret with the credentials.',
  ),
  text(
    '--credentials-file <PATH>',
    'With --config: a file with the Secret of the platform, or a folder with one file for each key of the Secret. Default: the environment variables CREDENTIALS_*, then the Secret in the --config file.',
  ),
];

/** `text` is for people. The fields of the other formats are documented and stable. */
const outputOption = (fallback: 'text' | 'table' | 'yaml') => {
  const formats = [...new Set([fallback, 'json', 'yaml'])];
  const names = formats.join(', ').replace(/, (\w+)$/, ' or $1');
  return choice('-o, --output <FORMAT>', formats, `Output format: ${names}.`).default(fallback);
};

const clusterOption = text('--cluster <NAMESPACE/NAME>', 'The Cluster.')
  .argParser(parseClusterName)
  .makeOptionMandatory();
const confirmOption = toggle('--confirm', 'Create the objects. Default: only check, and print what would be created.');
const accessOptions = [
  clusterOption,
  text('--ttl <DURATION>', 'Lifetime of the client certificate, from 5m to 24h. It cannot be revoked before.')
    .argParser(parseTtl)
    .default(8 * 60 * 60, '8h'),
  text('--output-file <FILE>', 'File to write, readable by you alone. Default: standard output.').argParser(
    parseRequiredText,
  ),
  toggle('--force', 'With --output-file: replace the file if it exists.'),
  outputOption('yaml'),
];

const namespaceOption = text(
  '-n, --namespace <NAME>',
  'Only objects in this namespace. Default: all namespaces.',
).argParser(parseRequiredText);

/** The options of each command. `--help` and `docs/reference/flags.md` are generated from these. */
export const commandOptions: Readonly<Record<CommandName, readonly Option[]>> = {
  init: [
    ...operatorOptions,
    ...commonOptions,
    toggle(
      '--with-openmcp-crds',
      'Also install missing openMCP CRDs (Cluster, ClusterProfile, AccessRequest), for platform clusters without the openMCP operator. Existing CRDs are not changed.',
    ),
  ],
  run: [...operatorOptions, ...commonOptions, ...runOptions],
  hosts: [
    requiredText(
      '--account <SECRET>',
      'Name of the Secret with the keys username and password of the webservice user, in the namespace of the provider.',
    ),
    text('--url <URL>', 'URL of the webservice. Default: the public one of the platform.'),
    text('--ca-file <PATH>', 'PEM file with the CA certificates to trust for the webservice. Default: the public CAs.'),
    outputOption('yaml'),
    ...commonOptions,
  ],
  plan: [
    text(
      '--cluster <NAMESPACE/NAME>',
      'The Cluster. With --provider-config it need not exist. Default: with --config, a new one; else the changes of all Clusters of the ProviderConfig.',
    ).argParser(parseClusterName),
    ...fileOptions,
    toggle('--documents', 'Also print the machine configuration of each node, with secrets masked.'),
    outputOption('text'),
    ...commonOptions,
  ],
  check: [...fileOptions, outputOption('text'), ...commonOptions],
  reservations: [
    requiredText(providerConfigFlag, providerConfigDescription),
    choice(
      '--dhcp-server <NAME>',
      Object.keys(reservationFormats),
      'With --output text: the configuration format of a DHCP server: dnsmasq, isc (dhcpd.conf), kea (the reservations of a subnet), or text.',
    ).default('text'),
    outputOption('text'),
    ...commonOptions,
  ],
  status: [
    namespaceOption,
    outputOption('table'),
    toggle('--watch', 'Print changes as they happen, at most once a second, until SIGINT. A terminal is redrawn.'),
    toggle('--exit-code', 'Exit with 1 if a Cluster is not ready, and with 2 if the command failed.'),
    ...commonOptions,
  ],
  why: [namespaceOption, outputOption('text'), ...commonOptions],
  'support-bundle': [
    text(
      '--output-file <FILE>',
      'The archive to write, readable by you alone. Default: cluster-provider-talos-support-TIME.tar.gz in this folder.',
    ).argParser(parseRequiredText),
    outputOption('text'),
    ...commonOptions,
  ],
  talosconfig: [
    ...accessOptions,
    choice(
      '--role <ROLE>',
      talosRoles,
      'Role in the Talos API. os:reader: state, logs and events of nodes, no secrets. os:operator: also reboots, shutdowns, services and snapshots of etcd. os:etcd:backup: snapshots and state of etcd only. os:admin: everything, including upgrade, reset and machine configurations.',
    ).default('os:reader'),
    ...commonOptions,
  ],
  kubeconfig: [
    ...accessOptions,
    choice(
      '--role <ROLE>',
      kubeconfigRoles,
      'Role in the cluster. reader: the ClusterRole view, i.e. most objects in namespaces, but no Secrets and no Nodes; the command binds it in the cluster if it is not bound yet. admin: the group system:masters, which no rule of the cluster limits.',
    ).default('reader'),
    text(
      '--group <NAME>',
      'Instead of --role: a group that a RoleBinding or ClusterRoleBinding in the cluster names. Can be repeated. Nothing is changed in the cluster.',
    ).argParser(parseGroups),
    ...commonOptions,
  ],
  backups: [
    ...fileOptions,
    text(
      '--cluster <NAMESPACE/NAME>',
      'Only the backups of this Cluster, which need not exist any more. verify and fetch read the newest one.',
    ).argParser(parseClusterName),
    text('--key <KEY>', 'The backup to verify or fetch, as list prints it.').argParser(parseRequiredText),
    text(
      '--identity <FILE>',
      'File with an identity of age, which age-keygen has written, to decrypt the backup.',
    ).argParser(parseIdentityPath),
    text('--output-folder <FOLDER>', 'For fetch: folder for the files, readable by you alone.')
      .argParser(parseRequiredText)
      .default('.'),
    outputOption('text'),
    ...commonOptions,
  ],
  backup: [
    clusterOption,
    text(
      '--recipient <KEY>',
      'Public key of age (age1…) that the files are encrypted for. Can be repeated: each of their identities decrypts the files.',
    )
      .argParser(parseRecipients)
      .makeOptionMandatory(),
    text('--output-folder <FOLDER>', 'Folder for the files, which have the name of the cluster and the time.')
      .argParser(parseRequiredText)
      .default('.'),
    outputOption('text'),
    ...commonOptions,
  ],
  import: [
    requiredText(
      '--from <PATH>',
      'What the paths of the files begin with that backups fetch has written, e.g. ./shop-prod-20261127T023000Z.',
    ),
    confirmOption,
    outputOption('text'),
    ...commonOptions,
  ],
  adopt: [
    clusterOption,
    requiredText(
      '--secrets <FILE>',
      'File with the secrets of the cluster, as talosctl gen secrets writes it, or the machine configuration of one of its control planes.',
    ),
    text('--control-plane <IP>', 'IP address of a control plane. Repeat it until all are named.')
      .argParser(parseAddresses)
      .makeOptionMandatory(),
    text('--worker <IP>', 'IP address of a worker. Can be repeated; a worker without it is not reported.').argParser(
      parseAddresses,
    ),
    confirmOption,
    outputOption('text'),
    ...commonOptions,
  ],
  completion: [],
};

/** The argument of a command that has one. */
export const commandArguments: Readonly<Partial<Record<CommandName, Argument>>> = {
  backups: new Argument(
    '<action>',
    'list: print the backups. verify: read one, and compare it with its manifest; with --identity also decrypt it and check the snapshot. fetch: write one to files; with --identity in clear.',
  ).choices(backupsActions),
  completion: new Argument('<shell>', 'The shell: bash, zsh or fish.').choices(shells),
  why: new Argument(
    '<object>',
    'NAME, or KIND/NAME if several objects have the name. The kind is cluster, machine, host or accessrequest.',
  ).argParser(parseObject),
};

export const describeDefault = ({ defaultValue, defaultValueDescription }: Option): string =>
  defaultValueDescription ?? (defaultValue === undefined ? '' : String(defaultValue));
