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

/** The kubeconfig that applies without a flag. */
export interface DefaultKubeconfig {
  /** For messages. */
  readonly name: string;
  readonly text: string;
}

const kubeconfigLists = ['clusters', 'contexts', 'users'] as const;
/** Fields of clusters and users that hold paths. The paths are relative to the file. */
const pathFields = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'];

/**
 * Finds the kubeconfig that kubectl uses without a flag: the files of `$KUBECONFIG`, except for missing ones, else
 * `~/.kube/config`. Returns undefined when there is none. Throws the errors of the file system and of the parser.
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

/** Merges as kubectl does: the first of several entries with one name counts, and the first current context. */
function mergeKubeconfigs(configs: readonly RawKubeconfig[]): RawKubeconfig {
  const merged = kubeconfigLists.map((list) => {
    const all = configs.flatMap((config) => config[list] ?? []);
    return [list, all.filter((entry, index) => all.findIndex(({ name }) => name === entry.name) === index)];
  });
  const current = configs.map((config) => config['current-context']).find(Boolean);
  return { ...(current && { 'current-context': current }), ...Object.fromEntries(merged) };
}
