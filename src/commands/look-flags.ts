import type { ReservationForm } from './describe-reservations.ts';
import {
  type CommonSettings,
  type Environment,
  isOn,
  text,
  toCommonSettings,
  toPodNamespace,
  UsageError,
  type Values,
  variable,
} from './flag-values.ts';

/** What every command is told that only looks. */
export interface LookSettings extends CommonSettings {
  /** The provider's own. */
  readonly podNamespace: string;
  /** Files that stand in for a platform cluster. */
  readonly files?: {
    readonly config: string;
    /** Absent: the environment, or the Secret in the other file. */
    readonly credentials?: string;
  };
}

export interface HostsSettings extends LookSettings {
  /** Name of a Secret in the provider's own namespace. */
  readonly account: string;
  readonly url?: string;
  readonly caFile?: string;
}

export interface PlanSettings extends LookSettings {
  /** Absent: one that is made up, of the only ProviderConfig of a file. */
  readonly cluster?: { readonly namespace: string; readonly name: string };
  /** Absent: that of the Cluster, which has to exist then, or the only one of a file. */
  readonly providerConfig?: string;
  /** The configuration of each machine is wanted, too. */
  readonly documents: boolean;
}

export interface CheckSettings extends LookSettings {
  /** Absent: the only one of a file. */
  readonly providerConfig?: string;
}

export interface ReservationsSettings extends LookSettings {
  readonly providerConfig: string;
  readonly dhcpServer: ReservationForm;
}

function toLookSettings(values: Values, environment: Environment): LookSettings {
  const settings = toCommonSettings(values, 'people');
  const [config, credentials] = [text(values, 'config'), text(values, 'credentials-file')];
  if (!config) {
    if (credentials)
      throw new UsageError('--credentials-file belongs to --config: name the file with the ProviderConfig.');
    return { ...settings, podNamespace: toPodNamespace(settings, environment) };
  }
  if (settings.kubeconfig)
    throw new UsageError('Give either --config or --kubeconfig: one of them says where to look.');
  const files = { config, ...(credentials && { credentials }) };
  return { ...settings, podNamespace: variable(environment, 'POD_NAMESPACE') || 'openmcp-system', files };
}

export function toHostsSettings(values: Values, environment: Environment): HostsSettings {
  const [url, caFile] = [text(values, 'url'), text(values, 'ca-file')];
  return {
    ...toLookSettings(values, environment),
    account: text(values, 'account'),
    ...(url && { url }),
    ...(caFile && { caFile }),
  };
}

export function toPlanSettings(values: Values, environment: Environment): PlanSettings {
  const settings = toLookSettings(values, environment);
  const [given, providerConfig] = [text(values, 'cluster'), text(values, 'provider-config')];
  if (!given && !settings.files)
    throw new UsageError('--cluster is missing: the Cluster, e.g. shop/prod; or look at a file by --config.');
  return {
    ...settings,
    documents: isOn(values, 'documents'),
    ...(given && { cluster: toCluster(given) }),
    ...(providerConfig && { providerConfig }),
  };
}

function toCluster(given: string): NonNullable<PlanSettings['cluster']> {
  const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(given) ?? [];
  if (namespace !== undefined && name !== undefined) return { namespace, name };
  throw new UsageError(`--cluster takes a namespace and a name, e.g. shop/prod, not ${given}.`);
}

export function toCheckSettings(values: Values, environment: Environment): CheckSettings {
  const settings = toLookSettings(values, environment);
  const providerConfig = text(values, 'provider-config');
  if (!providerConfig && !settings.files)
    throw new UsageError('--provider-config is missing: name of the ProviderConfig; or look at a file by --config.');
  return { ...settings, ...(providerConfig && { providerConfig }) };
}

export function toReservationsSettings(values: Values, environment: Environment): ReservationsSettings {
  return {
    ...toLookSettings(values, environment),
    providerConfig: text(values, 'provider-config'),
    // The parser lets no other word pass.
    dhcpServer: text(values, 'dhcp-server') as ReservationForm,
  };
}
