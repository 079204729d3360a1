import { isIP } from 'node:net';

const dnsLabel = /^[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62}$/;
const qualifiedName = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;
const dnsSubdomain = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/** `192.168.10.21/24` or `fd00::1/64`. */
export function isCidr(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  const [address = '', bits = '', ...rest] = text.split('/');
  const family = isIP(address);
  return family !== 0 && rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

/** An address, a subnet, or one of them after an exclamation mark: the form of Talos' subnet filters. */
export function isSubnetFilter(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  const plain = text.replace(/^!/, '');
  return isIP(plain) !== 0 || isCidr(plain);
}

export const isDnsName = (text: unknown): boolean =>
  typeof text === 'string' &&
  text.length <= 253 &&
  text
    .replace(/\.$/, '')
    .split('.')
    .every((label) => dnsLabel.test(label));

/** `1h30m` as Go writes it, or nanoseconds. */
export const isDuration = (value: unknown): boolean =>
  Number.isInteger(value) || /^([-+]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+|0)$/.test(String(value));

export function isBase64(value: unknown): boolean {
  const text = String(value).replace(/[\r\n]/g, '');
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** The common limit of browsers and proxies. */
const maxUrlLength = 2048;

/** A URL with scheme and host, or undefined. */
export function toUrl(text: unknown): URL | undefined {
  if (typeof text !== 'string' || text.length > maxUrlLength || !/^[a-z][a-z0-9+.-]*:\/\//.test(text)) return undefined;
  try {
    const url = new URL(text);
    return url.host === '' ? undefined : url;
  } catch {
    return undefined;
  }
}

/** The key of a Kubernetes label, annotation or taint: a name with an optional DNS prefix. */
export function isLabelKey(key: string): boolean {
  const [name = '', prefix, ...rest] = key.split('/').reverse();
  return (
    rest.length === 0 &&
    qualifiedName.test(name) &&
    (prefix === undefined || (prefix.length <= 253 && dnsSubdomain.test(prefix)))
  );
}

export const isLabelValue = (value: unknown): boolean =>
  typeof value === 'string' && (value === '' || qualifiedName.test(value));

/** The labels of Kubernetes that a kubelet may set on its own Node (admission plugin NodeRestriction). */
const kubeletSettableLabel =
  /^([a-z0-9.-]*\.)?(kubelet|node)\.kubernetes\.io\/|^(kubernetes\.io\/(hostname|arch|os)|beta\.kubernetes\.io\/(arch|os|instance-type)|node\.kubernetes\.io\/instance-type|(topology|failure-domain\.beta)\.kubernetes\.io\/(zone|region))$/;
const kubernetesLabel = /^([a-z0-9.-]*\.)?(kubernetes|k8s)\.io\//;

/** Whether a worker may register with a label. */
export const isKubeletSettableLabel = (key: string): boolean =>
  !kubernetesLabel.test(key) || kubeletSettableLabel.test(key);

/** `NoSchedule` or `value:NoSchedule`: the value side of Talos' taints. */
export function isTaint(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const [effect = '', text = '', ...rest] = value.split(':').reverse();
  return rest.length === 0 && ['NoSchedule', 'PreferNoSchedule', 'NoExecute'].includes(effect) && isLabelValue(text);
}
