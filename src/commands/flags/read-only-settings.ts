import type { Command } from 'commander';
import type { ReservationFormat } from '../output/reservation-formats.ts';
import type { OutputFormat, StructuredFormat } from '../output/structured-output.ts';
import { type CommonSettings, readPodNamespace, toCommonSettings } from './common-settings.ts';
import { type ProcessEnvironment, readEnvironmentVariable } from './environment-variables.ts';
import type { BackupsAction, ClusterFlagValue } from './option-values.ts';
import { UsageError } from './usage-error.ts';

/** Settings of every read-only command. */
export interface ReadOnlySettings extends CommonSettings {
  /** The provider's own namespace. */
  readonly podNamespace: string;
  /** Files that replace a platform cluster. */
  readonly files?: {
    readonly config: string;
    /** Absent: from environment variables, or from the Secret in the other file. */
    readonly credentials?: string;
  };
}

export interface HostsSettings extends ReadOnlySettings {
  /** Name of a Secret in the provider's own namespace. */
  readonly account: string;
  readonly url?: string;
  readonly caFile?: string;
  readonly output: StructuredFormat;
}

export interface PlanSettings extends ReadOnlySettings {
  /** Absent: an example Cluster for the only ProviderConfig of a file. */
  readonly cluster?: ClusterFlagValue;
  /** Absent: the ProviderConfig of the Cluster, which has to exist then, or the only one of a file. */
  readonly providerConfig?: string;
  /** Also prints the configuration of each machine. */
  readonly documents: boolean;
  readonly output: OutputFormat;
}

export interface CheckSettings extends ReadOnlySettings {
  /** Absent: the only one of a file. */
  readonly providerConfig?: string;
  readonly output: OutputFormat;
}

export interface ReservationsSettings extends ReadOnlySettings {
  readonly providerConfig: string;
  readonly dhcpServer: ReservationFormat;
  readonly output: OutputFormat;
}

export interface BackupsSettings extends ReadOnlySettings {
  readonly action: BackupsAction;
  /** Absent: the only one of a file. */
  readonly providerConfig?: string;
  /** Absent: the backups of all clusters. */
  readonly cluster?: ClusterFlagValue;
  /** Key of an object of the backup to read. Absent: the newest one of the cluster. */
  readonly key?: string;
  /** Path of a file with identities of age. */
  readonly identity?: string;
  /** Path of the folder for the files. */
  readonly outputFolder: string;
  readonly output: OutputFormat;
}

function toReadOnlySettings(command: Command, environment: ProcessEnvironment): ReadOnlySettings {
  const settings = toCommonSettings(command, 'people');
  const { config, credentialsFile: credentials } = command.opts<{ config?: string; credentialsFile?: string }>();
  if (!config) {
    if (credentials) throw new UsageError('--credentials-file needs --config.');
    return { ...settings, podNamespace: readPodNamespace(settings, environment) };
  }
  if (settings.kubeconfig) throw new UsageError('--config and --kubeconfig exclude each other.');
  const files = { config, ...(credentials && { credentials }) };
  return {
    ...settings,
    podNamespace: readEnvironmentVariable(environment, 'POD_NAMESPACE') || 'openmcp-system',
    files,
  };
}

export function toHostsSettings(command: Command, environment: ProcessEnvironment): HostsSettings {
  const { account, url, caFile, output } = command.opts<Pick<HostsSettings, 'account' | 'url' | 'caFile' | 'output'>>();
  return {
    ...toReadOnlySettings(command, environment),
    ...{ account, output },
    ...(url && { url }),
    ...(caFile && { caFile }),
  };
}

export function toPlanSettings(command: Command, environment: ProcessEnvironment): PlanSettings {
  const settings = toReadOnlySettings(command, environment);
  const { cluster, providerConfig, documents, output } =
    command.opts<Pick<PlanSettings, 'cluster' | 'providerConfig' | 'documents' | 'output'>>();
  if (!cluster && !providerConfig && !settings.files)
    throw new UsageError(
      '--cluster, --provider-config or --config is required: name a Cluster, e.g. shop/prod, a ProviderConfig whose running machines may change, or a file with a ProviderConfig.',
    );
  if (!cluster && !settings.files && documents)
    throw new UsageError('--documents needs --cluster or --config: it prints the nodes of one cluster.');
  return { ...settings, documents, output, ...(cluster && { cluster }), ...(providerConfig && { providerConfig }) };
}

export function toCheckSettings(command: Command, environment: ProcessEnvironment): CheckSettings {
  const settings = toReadOnlySettings(command, environment);
  const { providerConfig, output } = command.opts<Pick<CheckSettings, 'providerConfig' | 'output'>>();
  if (!providerConfig && !settings.files) throw new UsageError('--provider-config or --config is required.');
  return { ...settings, output, ...(providerConfig && { providerConfig }) };
}

export function toReservationsSettings(command: Command, environment: ProcessEnvironment): ReservationsSettings {
  const { providerConfig, dhcpServer, output } =
    command.opts<Pick<ReservationsSettings, 'providerConfig' | 'dhcpServer' | 'output'>>();
  if (output !== 'text' && command.getOptionValueSource('dhcpServer') === 'cli')
    throw new UsageError('--dhcp-server is for --output text: omit one of them.');
  return { ...toReadOnlySettings(command, environment), providerConfig, dhcpServer, output };
}

export function toBackupsSettings(command: Command, environment: ProcessEnvironment): BackupsSettings {
  const settings = toReadOnlySettings(command, environment);
  const [action] = command.processedArgs as [BackupsAction];
  const { providerConfig, cluster, key, identity, output, outputFolder } =
    command.opts<
      Pick<BackupsSettings, 'providerConfig' | 'cluster' | 'key' | 'identity' | 'output' | 'outputFolder'>
    >();
  if (!providerConfig && !settings.files) throw new UsageError('--provider-config or --config is required.');
  if (action !== 'list' && !cluster && key === undefined)
    throw new UsageError(`backups ${action} needs --cluster, for its newest backup, or --key.`);
  return {
    ...{ ...settings, action, output, outputFolder },
    ...(providerConfig && { providerConfig }),
    ...(cluster && { cluster }),
    ...(key !== undefined && { key }),
    ...(identity !== undefined && { identity }),
  };
}
