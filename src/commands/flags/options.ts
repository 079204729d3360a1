import { Option } from 'commander';
import { reservationFormats } from '../output/reservation-formats.ts';
import {
  controllerFlagValues,
  parseBindAddress,
  parseBoolean,
  parseChoice,
  parseClusterName,
  parseControllers,
  parseName,
  parseRequiredText,
} from './option-values.ts';

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
  name(
    '--environment <NAME>',
    'The environment that this provider works in. First part of the names of its ClusterProfiles.',
  ),
  name(
    '--provider-name <NAME>',
    'Name of the ClusterProvider object. Only ProviderConfigs and Clusters that belong to it are touched.',
  ),
];

const commonOptions = [
  text(
    '--kubeconfig <PATH>',
    'How to reach the platform cluster: a kubeconfig file, or a folder with a file kubeconfig, or with host, token and ca.crt. Left out: what $KUBECONFIG names, else ~/.kube/config, else the ServiceAccount of the Pod.',
  ),
  choice('-v, --verbosity <LEVEL>', ['error', 'info', 'debug'], 'How much is logged: error, info or debug.').default(
    'info',
  ),
  choice('-f, --format <FORMAT>', ['json', 'text'], 'How it is logged: json or text.').default('json'),
  toggle('--dev', 'For development: logs text at level debug, unless told otherwise.'),
  toggle(
    '--cli',
    'For people at a terminal: logs text without times and stacks. What people start does so unless told otherwise.',
  ),
  toggle('--disable-stacktrace', 'Logs errors without their stack.'),
  toggle('--disable-timestamp', 'Logs without times.'),
  ignored(toggle('--disable-caller', 'Taken and not used: callers are never logged.')),
  toggle('--dry-run', 'Check the flags and the environment, print them, then exit.'),
];

const webhookDescription = 'Taken and not used: this provider has no webhooks.';
const runOptions = [
  text('--metrics-bind-address <ADDRESS>', 'Where metrics are served, e.g. :8080. 0 serves none.')
    .argParser(parseBindAddress)
    .default(null, '0'),
  toggle(
    '--metrics-secure',
    'Serve metrics over HTTPS, and to those alone whose bearer token the platform cluster lets get /metrics. false: over HTTP, to everybody.',
    true,
  ),
  text('--metrics-cert-path <FOLDER>', 'Folder of the certificate for metrics. Left out: one is made at the start.'),
  text('--metrics-cert-name <FILE>', 'Name of the certificate file in that folder.').default('tls.crt'),
  text('--metrics-cert-key <FILE>', 'Name of the key file in that folder.').default('tls.key'),
  text('--health-probe-bind-address <ADDRESS>', 'Where /healthz and /readyz are served. 0 serves none.')
    .argParser(parseBindAddress)
    .default({ host: '', port: 8081 }, ':8081'),
  ignored(
    toggle(
      '--leader-elect',
      'Taken and not needed: a Lease is always held, because two Pods overlap in every roll-out.',
    ),
  ),
  text('--controllers <LIST>', 'The controllers to run, separated by commas.')
    .argParser(parseControllers)
    .default(controllerFlagValues, controllerFlagValues.join(',')),
  ignored(text('--pprof-bind-address <ADDRESS>', 'Taken and not used: profiles come from node --inspect.')),
  ignored(toggle('--enable-http2', 'Taken and not used: servers speak HTTP/1.1.')),
  ignored(text('--webhook-cert-path <FOLDER>', webhookDescription)),
  ignored(text('--webhook-cert-name <FILE>', webhookDescription)),
  ignored(text('--webhook-cert-key <FILE>', webhookDescription)),
];

const providerConfigFlag = '--provider-config <NAME>';
const providerConfigDescription =
  'Name of the ProviderConfig. Left out of plan: that of the Cluster. With --config it may be left out: the only one of the file.';
const fileOptions = [
  text(providerConfigFlag, providerConfigDescription),
  text(
    '--config <FILE>',
    'A file (YAML) with a ProviderConfig, to be looked at without a platform cluster. What else it holds counts too: Hosts, the Cluster, its ClusterConfigs, the Secret.',
  ),
  text(
    '--credentials-file <PATH>',
    'With --config: a file with the Secret of the platform, or a folder with a file for each of its keys. Left out: the environment, then the Secret of the file itself.',
  ),
];

/** The options of each command. `--help` and `docs/reference/flags.md` are generated from these. */
export const commandOptions: Readonly<Record<CommandName, readonly Option[]>> = {
  init: [
    ...operatorOptions,
    ...commonOptions,
    toggle(
      '--with-openmcp-crds',
      'Also install the openMCP CRDs that are missing: Cluster, ClusterProfile, AccessRequest. For platform clusters without the openMCP operator; existing CRDs are never changed.',
    ),
  ],
  run: [...operatorOptions, ...commonOptions, ...runOptions],
  hosts: [
    requiredText(
      '--account <SECRET>',
      "Name of the Secret with username and password of the webservice user, in the provider's own namespace.",
    ),
    text('--url <URL>', 'Address of the webservice. Left out: the public one of the platform.'),
    text(
      '--ca-file <PATH>',
      'File with the certificates (PEM) to trust for the webservice. Left out: the public ones.',
    ),
    ...commonOptions,
  ],
  plan: [
    text(
      '--cluster <NAMESPACE/NAME>',
      'The Cluster, which need not exist yet where --provider-config is given. With --config it may be left out: a name is made up.',
    ).argParser(parseClusterName),
    ...fileOptions,
    toggle('--documents', 'Print the configuration that each machine would be given as well, without what is secret.'),
    ...commonOptions,
  ],
  check: [...fileOptions, ...commonOptions],
  reservations: [
    requiredText(providerConfigFlag, providerConfigDescription),
    choice(
      '--dhcp-server <NAME>',
      Object.keys(reservationFormats),
      'The DHCP server that reads it: dnsmasq, isc (dhcpd.conf) or kea (the list of a subnet). text is for people.',
    ).default('text'),
    ...commonOptions,
  ],
};

export const describeDefault = ({ defaultValue, defaultValueDescription }: Option): string =>
  defaultValueDescription ?? (defaultValue === undefined ? '' : String(defaultValue));
