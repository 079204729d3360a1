import { readFileSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { loadYaml } from '@kubernetes/client-node';

type KubeconfigEntry = Record<string, unknown> & { readonly name?: string };
interface RawKubeconfig {
  readonly 'current-context'?: string;
  readonly clusters?: readonly KubeconfigEntry[];
  readonly contexts?: readonly KubeconfigEntry[];
  readonly users?: readonly KubeconfigEntry[];
}

/** Where a kubeconfig comes from that no flag names. */
export interface DefaultKubeconfig {
  /** For messages. */
  readonly name: string;
  readonly text: string;
}

const kubeconfigLists = ['clusters', 'contexts', 'users'] as const;
/** Fields of clusters and users that hold paths, which are relative to the file that names them. */
const pathFields = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'];

/**
 * What kubectl uses when no flag names a kubeconfig: the files of `$KUBECONFIG`, of which those that are missing are left out,
 * else `~/.kube/config`. Undefined where there is none. Throws what reading a file throws, and the parser's error.
 */
export function findDefaultKubeconfig(
  environment: Readonly<Record<string, string | undefined>>,
): DefaultKubeconfig | undefined {
  const home = environment['HOME'];
  const listed = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  const candidates = listed.length > 0 ? listed : home ? [join(home, '.kube', 'config')] : [];
  const files = candidates.filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
  if (files.length === 0) return undefined;
  return { name: files.join(delimiter), text: JSON.stringify(mergeKubeconfigs(files.map(readKubeconfigFile))) };
}

function readKubeconfigFile(path: string): RawKubeconfig {
  const raw = loadYaml<RawKubeconfig | null>(readFileSync(path, 'utf8')) ?? {};
  const folder = dirname(path);
  return {
    ...raw,
    ...(raw.clusters && { clusters: raw.clusters.map((entry) => withAbsolutePaths(entry, 'cluster', folder)) }),
    ...(raw.users && { users: raw.users.map((entry) => withAbsolutePaths(entry, 'user', folder)) }),
  };
}

function withAbsolutePaths(entry: KubeconfigEntry, key: 'cluster' | 'user', folder: string): KubeconfigEntry {
  const inner = entry[key];
  if (typeof inner !== 'object' || inner === null) return entry;
  const absolute = Object.entries(inner).map(([field, value]) => [
    field,
    pathFields.includes(field) && typeof value === 'string' && value !== '' && !isAbsolute(value)
      ? join(folder, value)
      : value,
  ]);
  return { ...entry, [key]: Object.fromEntries(absolute) };
}

/** As kubectl merges: of entries with one name, and of current contexts, the first counts. */
function mergeKubeconfigs(configs: readonly RawKubeconfig[]): RawKubeconfig {
  const merged = kubeconfigLists.map((list) => {
    const all = configs.flatMap((config) => config[list] ?? []);
    return [list, all.filter((entry, index) => all.findIndex(({ name }) => name === entry.name) === index)];
  });
  const current = configs.map((config) => config['current-context']).find(Boolean);
  return { ...(current && { 'current-context': current }), ...Object.fromEntries(merged) };
}
