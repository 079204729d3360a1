import semver from 'semver';
import {
  type ConfigDocument,
  isMainConfigDocument,
  isRecord,
  recordsAt,
  valueAt,
} from '../../../../talos/config/config-document.ts';
import { minorOf } from '../../../../talos/versions.ts';
import type { UpgradeHop } from '../target-version.ts';
import { type KubernetesProgram, removedSettings } from './removed-settings.ts';

/** Where the configuration has the settings of a program: a section of the main document, or a document. */
const places: Readonly<Record<KubernetesProgram, { readonly section: string; readonly kind: string }>> = {
  apiServer: { section: 'cluster.apiServer', kind: 'KubeAPIServerConfig' },
  controllerManager: { section: 'cluster.controllerManager', kind: 'KubeControllerManagerConfig' },
  scheduler: { section: 'cluster.scheduler', kind: 'KubeSchedulerConfig' },
  proxy: { section: 'cluster.proxy', kind: 'KubeProxyConfig' },
  kubelet: { section: 'machine.kubelet', kind: 'KubeletConfig' },
};
const programs = Object.keys(places) as KubernetesProgram[];

/**
 * The settings of a machine configuration, as sentences, that the next version of Kubernetes no longer accepts. The
 * configuration is the one that we render with all patches, so that it is also found on nodes that do not have it yet.
 */
export function findRemovedSettings(documents: readonly ConfigDocument[], { from, to }: UpgradeHop): string[] {
  const minors = Object.keys(removedSettings).filter(
    (minor) => semver.gt(`${minor}.0`, from) && semver.lte(`${minor}.0`, `${minorOf(to)}.0`),
  );
  const found = minors.flatMap((minor) =>
    programs.flatMap((program) => findInProgram(documents, program, minor)).concat(findPlugins(documents, minor)),
  );
  return [...new Set(found)];
}

function findInProgram(documents: readonly ConfigDocument[], program: KubernetesProgram, minor: string): string[] {
  const removed = removedSettings[minor] ?? {};
  const flags = wordsOf(removed.flags?.[program]);
  const gates = wordsOf(removed.gates);
  return settingsOf(documents, program).flatMap(({ path, settings }) => {
    const args = isRecord(settings['extraArgs']) ? settings['extraArgs'] : {};
    const usedFlags = Object.keys(args).filter((flag) => flags.has(flag));
    const usedGates = gatesOf(settings, args).filter((gate) => gates.has(gate));
    return [
      ...usedFlags.map((flag) => `${path}.extraArgs.${flag}: Kubernetes ${minor} does not have this flag.`),
      ...usedGates.map((gate) => `${path}: Kubernetes ${minor} does not have the feature gate ${gate}.`),
    ];
  });
}

function findPlugins(documents: readonly ConfigDocument[], minor: string): string[] {
  const removed = wordsOf(removedSettings[minor]?.admissionPlugins);
  const configured = [
    ...documents.flatMap((document) => recordsAt(document, 'cluster.apiServer.admissionControl')),
    ...documents.filter(({ kind }) => kind === 'KubeAdmissionControlConfig'),
  ].map(({ name }) => String(name));
  const flags = ['enable-admission-plugins', 'disable-admission-plugins'];
  const named = settingsOf(documents, 'apiServer').flatMap(({ settings }) =>
    flags.flatMap((flag) => valuesOf(valueAt(settings, `extraArgs.${flag}`))),
  );
  const used = [...new Set([...configured, ...named])].filter((name) => removed.has(name));
  return used.map((name) => `cluster.apiServer: Kubernetes ${minor} does not have the admission plugin ${name}.`);
}

/** The images that a node runs itself: that of its kubelet, and those of the static Pods of a control plane. */
export function listNodeImages(
  documents: readonly ConfigDocument[],
  role: 'controlplane' | 'worker',
): readonly { readonly image: string; readonly isKubelet: boolean }[] {
  const here =
    role === 'worker' ? (['kubelet'] as const) : (['apiServer', 'controllerManager', 'scheduler', 'kubelet'] as const);
  return here.flatMap((program) => {
    // A document replaces the section of the main document.
    const image = settingsOf(documents, program).at(-1)?.settings['image'];
    return typeof image === 'string' ? [{ image, isKubelet: program === 'kubelet' }] : [];
  });
}

interface ProgramSettings {
  readonly path: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

function settingsOf(documents: readonly ConfigDocument[], program: KubernetesProgram): ProgramSettings[] {
  const { section, kind } = places[program];
  const main = valueAt(documents.find(isMainConfigDocument), section);
  const others = documents.filter((document) => document['kind'] === kind);
  return [
    ...(isRecord(main) ? [{ path: section, settings: main }] : []),
    ...others.map((settings) => ({ path: kind, settings })),
  ];
}

/** Feature gates from the flag, which may be repeated, and from the configuration file of the kubelet. */
function gatesOf(settings: Readonly<Record<string, unknown>>, args: Readonly<Record<string, unknown>>): string[] {
  const fromFlag = valuesOf(args['feature-gates']).map((pair) => pair.split('=')[0] ?? '');
  const files = [settings['extraConfig'], settings['config']].map((file) => valueAt(file, 'featureGates'));
  return [...fromFlag, ...files.flatMap((gates) => (isRecord(gates) ? Object.keys(gates) : []))];
}

/** The values of a flag: a text with commas, or since Talos 1.13 a list of them. */
const valuesOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : value === undefined ? [] : [value])
    .flatMap((text) => String(text).split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '');

const wordsOf = (words: string | undefined): ReadonlySet<string> => new Set(words?.split(' ') ?? []);
