import { isIP } from 'node:net';
import { isRecord } from '../config-document.ts';
import { isCidr, isDnsName, isDuration, isLabelKey, toUrl } from '../schema/formats.ts';
import { isAllowedModule } from './allowed-names.ts';
import type { PatchPermissionContext, ValueCheck } from './patch-permission.ts';

/** Maximum length of a text. All valid values are numbers, names and addresses. */
const maxTextLength = 512;

const toShortText = (value: unknown): string | undefined => {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined;
  const written = String(value);
  return written.length <= maxTextLength ? written : undefined;
};
const createTextCheck = (such: string, holds: (written: string) => boolean): ValueCheck => ({
  description: such,
  accepts: (value) => {
    const written = toShortText(value);
    return written !== undefined && holds(written);
  },
});

export const wholeNumber = createTextCheck('a whole number', (written) => /^\d{1,15}$/.test(written));
export const fraction = createTextCheck('a number', (written) => /^\d{1,9}(\.\d{1,9})?$/.test(written));
export const trueOrFalse = createTextCheck('true or false', (written) => written === 'true' || written === 'false');
export const duration = createTextCheck(
  'a duration like 30s',
  (written) => written.length <= 64 && isDuration(written),
);
export const oneOfWords = (...allowed: readonly string[]): ValueCheck =>
  createTextCheck(`one of ${allowed.join(', ')}`, (written) => allowed.includes(written));
/** From 5 on the programs log more than they should, from 8 on the contents of requests, including Secrets. */
export const logVerbosity = oneOfWords('0', '1', '2', '3', '4');
export const singleLineText = createTextCheck('a string of one line', (written) =>
  /^[\x20-\x7e]{1,256}$/.test(written),
);
export const hostNameOrAddress = createTextCheck(
  'a DNS name or an address',
  (written) => isIP(written) !== 0 || isDnsName(written),
);
export const wildcardOrLoopbackAddress = oneOfWords('0.0.0.0', '::', '127.0.0.1', '::1');
export const subnetList = createTextCheck('subnets with commas between them', (written) =>
  written.split(',').every((one) => isCidr(one)),
);
export const bindAddress = createTextCheck('an address with a port like 0.0.0.0:10249', (written) =>
  /^(0\.0\.0\.0|127\.0\.0\.1|\[::1?\]):\d{1,5}$/.test(written),
);
/** API versions may be enabled; versions that are served by default may not be disabled. */
export const enabledApiVersions = createTextCheck(
  'API versions to switch on, like resource.k8s.io/v1beta1=true',
  (written) => written.split(',').every((one) => /^[a-z0-9.-]{1,253}\/v[a-z0-9]{1,16}=true$/.test(one)),
);
export const httpsUrl: ValueCheck = {
  description: 'an https URL without a user and a password',
  accepts: (value) => {
    if (toShortText(value) === undefined) return false;
    const url = toUrl(value);
    return url?.protocol === 'https:' && url.username === '' && url.password === '';
  },
};
export const fileName = createTextCheck('a file name', (written) => /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(written));

/** A parameter may hold the path of a program that the kernel runs as root (`usermode_helper` of drbd). */
export const moduleParameter = createTextCheck('a parameter with a number, Y, N or disabled', (written) =>
  /^\w{1,64}=(\d{1,12}|[YyNn]|disabled)$/.test(written),
);

/** Registries of Talos and Kubernetes itself: a mirror of one could replace system programs. */
const systemRegistries = ['registry.k8s.io', 'gcr.io', 'ghcr.io', 'factory.talos.dev'];

/** Whether system images never come from a registry. */
export function isUserRegistry(host: string, context: PatchPermissionContext): boolean {
  const name = host.toLowerCase();
  const known = [...systemRegistries, ...context.systemRegistries];
  return /^[a-z0-9][a-z0-9.-]{0,252}(:\d{1,5})?$/.test(name) && known.every((one) => !isSameHost(name, one));
}

const isSameHost = (one: string, other: string): boolean => withoutPort(one) === withoutPort(other.toLowerCase());
const withoutPort = (host: string): string => host.split(':')[0]?.replace(/\.$/, '') ?? host;

export const userRegistry: ValueCheck = {
  description: 'a registry that neither Talos nor Kubernetes itself comes from',
  accepts: (value, context) => typeof value === 'string' && isUserRegistry(value, context),
};

/** Excludes roles and the labels that the provider sets. */
export const isUserLabel = (key: string, { labelPrefix }: PatchPermissionContext): boolean =>
  isLabelKey(key) && !key.startsWith(labelPrefix) && !key.startsWith('node-role.kubernetes.io/');

const mountOptions = ['bind', 'rbind', 'rshared', 'rslave', 'rprivate', 'rw', 'ro', 'nodev', 'nosuid', 'noexec'];

/** A volume of the node, mounted into the kubelet at its own path. Any other path could hold data of the system. */
export const userVolumeMount: ValueCheck = {
  description: 'a bind mount of a folder below /var/mnt to its own path',
  accepts: (value) => {
    if (!isRecord(value)) return false;
    const { source, destination, type, options = [], ...others } = value;
    return (
      typeof source === 'string' &&
      /^\/var\/mnt(\/[A-Za-z0-9][A-Za-z0-9_-]{0,63}){1,4}$/.test(source) &&
      destination === source &&
      (type === undefined || type === 'bind') &&
      Array.isArray(options) &&
      options.every((option) => mountOptions.includes(String(option))) &&
      Object.keys(others).length === 0
    );
  },
};

/** Other plugins read files of the node (`kubeConfigFile` of ImagePolicyWebhook). */
export const podSecurityPlugin: ValueCheck = {
  description: 'the configuration of the plugin PodSecurity',
  accepts: (value) => isRecord(value) && value['name'] === 'PodSecurity' && isPodSecurityConfiguration(value),
};

const isPodSecurityConfiguration = (value: Record<string, unknown>): boolean =>
  Object.keys(value).every((key) => ['name', 'configuration', 'apiVersion', 'kind'].includes(key)) &&
  isRecord(value['configuration']) &&
  !('$patch' in value['configuration']) &&
  (value['configuration']['kind'] ?? 'PodSecurityConfiguration') === 'PodSecurityConfiguration';

export const taintValueText = createTextCheck('a taint effect like NoSchedule or value:NoSchedule', (written) =>
  /^([\w.-]{0,63}:)?(NoSchedule|PreferNoSchedule|NoExecute)$/.test(written),
);

/** Empty, as labels may be, or up to 63 characters. */
export const labelValueText = createTextCheck('the value of a label', (written) => /^[\w.-]{0,63}$/.test(written));

export const allowedModuleName: ValueCheck = {
  description: 'a module of the list in docs/security.md',
  accepts: isAllowedModule,
};
