import type { ReservationFormat } from '../output/reservation-formats.ts';
import {
  type CommonSettings,
  type FlagValues,
  isFlagOn,
  type ProcessEnvironment,
  readEnvironmentVariable,
  readFlag,
  readPodNamespace,
  toCommonSettings,
  UsageError,
} from './flag-values.ts';

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
}

export interface PlanSettings extends ReadOnlySettings {
  /** Absent: an example Cluster for the only ProviderConfig of a file. */
  readonly cluster?: { readonly namespace: string; readonly name: string };
  /** Absent: the ProviderConfig of the Cluster, which has to exist then, or the only one of a file. */
  readonly providerConfig?: string;
  /** Also prints the configuration of each machine. */
  readonly documents: boolean;
}

export interface CheckSettings extends ReadOnlySettings {
  /** Absent: the only one of a file. */
  readonly providerConfig?: string;
}

export interface ReservationsSettings extends ReadOnlySettings {
  readonly providerConfig: string;
  readonly dhcpServer: ReservationFormat;
}

function toReadOnlySettings(values: FlagValues, environment: ProcessEnvironment): ReadOnlySettings {
  const settings = toCommonSettings(values, 'people');
  const [config, credentials] = [readFlag(values, 'config'), readFlag(values, 'credentials-file')];
  if (!config) {
    if (credentials)
      throw new UsageError('--credentials-file belongs to --config: name the file with the ProviderConfig.');
    return { ...settings, podNamespace: readPodNamespace(settings, environment) };
  }
  if (settings.kubeconfig)
    throw new UsageError('Give either --config or --kubeconfig: one of them says where to look.');
  const files = { config, ...(credentials && { credentials }) };
  return {
    ...settings,
    podNamespace: readEnvironmentVariable(environment, 'POD_NAMESPACE') || 'openmcp-system',
    files,
  };
}

export function toHostsSettings(values: FlagValues, environment: ProcessEnvironment): HostsSettings {
  const [url, caFile] = [readFlag(values, 'url'), readFlag(values, 'ca-file')];
  return {
    ...toReadOnlySettings(values, environment),
    account: readFlag(values, 'account'),
    ...(url && { url }),
    ...(caFile && { caFile }),
  };
}

export function toPlanSettings(values: FlagValues, environment: ProcessEnvironment): PlanSettings {
  const settings = toReadOnlySettings(values, environment);
  const [given, providerConfig] = [readFlag(values, 'cluster'), readFlag(values, 'provider-config')];
  if (!given && !settings.files)
    throw new UsageError('--cluster is missing: the Cluster, e.g. shop/prod; or look at a file by --config.');
  return {
    ...settings,
    documents: isFlagOn(values, 'documents'),
    ...(given && { cluster: parseClusterName(given) }),
    ...(providerConfig && { providerConfig }),
  };
}

function parseClusterName(given: string): NonNullable<PlanSettings['cluster']> {
  const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(given) ?? [];
  if (namespace !== undefined && name !== undefined) return { namespace, name };
  throw new UsageError(`--cluster takes a namespace and a name, e.g. shop/prod, not ${given}.`);
}

export function toCheckSettings(values: FlagValues, environment: ProcessEnvironment): CheckSettings {
  const settings = toReadOnlySettings(values, environment);
  const providerConfig = readFlag(values, 'provider-config');
  if (!providerConfig && !settings.files)
    throw new UsageError('--provider-config is missing: name of the ProviderConfig; or look at a file by --config.');
  return { ...settings, ...(providerConfig && { providerConfig }) };
}

export function toReservationsSettings(values: FlagValues, environment: ProcessEnvironment): ReservationsSettings {
  return {
    ...toReadOnlySettings(values, environment),
    providerConfig: readFlag(values, 'provider-config'),
    // The parser accepts no other value.
    dhcpServer: readFlag(values, 'dhcp-server') as ReservationFormat,
  };
}
