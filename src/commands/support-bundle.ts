import { lstat } from 'node:fs/promises';
import { basename } from 'node:path';
import { formatBackupTime } from '../backup/backup-keys.ts';
import { isUnreachable } from '../kube/errors.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { ProviderError } from '../lib/errors.ts';
import { formatTime } from '../lib/text.ts';
import type { ProcessContext } from './flags/operator-settings.ts';
import type { SupportBundleSettings } from './flags/status-settings.ts';
import type { CommandOutput } from './output/output-schemas.ts';
import { formatStructured } from './output/structured-output.ts';
import { openKubeClient } from './read-only/open-kube-client.ts';
import type { ReadOnlyCommandContext } from './read-only/read-only-session.ts';
import { BundleFiles } from './support-bundle/bundle-files.ts';
import type { BundleSession } from './support-bundle/bundle-session.ts';
import { collectExplanations } from './support-bundle/collect-explanations.ts';
import { collectPods } from './support-bundle/collect-logs.ts';
import { collectEvents, collectObjects } from './support-bundle/collect-objects.ts';
import { collectVersions } from './support-bundle/collect-versions.ts';
import { writeBundle } from './support-bundle/pack-bundle.ts';
import { objectRuleNames } from './support-bundle/redact-object.ts';
import { textRuleNames } from './support-bundle/redact-text.ts';

/** What is not read by then is left out. */
const collectSeconds = 300;
const baseName = 'cluster-provider-talos-support';

interface SupportBundleOptions extends SupportBundleSettings, ReadOnlyCommandContext, ProcessContext {
  readonly release: string;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * Writes an archive with what others need to find the cause of a problem: objects, Events, logs, versions, explanations.
 * Secrets are never read, and values that could be credentials are hidden. What the user may not read is left out.
 */
export async function runSupportBundle(options: SupportBundleOptions): Promise<void> {
  const { clock = systemClock, signal: stopped, podNamespace, release } = options;
  const time = clock.now();
  const path = options.outputFile ?? `${baseName}-${formatBackupTime(time)}.tar.gz`;
  await requireNewFile(path);
  const kube = openKubeClient(options);
  const files = new BundleFiles();
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(collectSeconds * 1000)]);
  try {
    await requireServer(kube, signal);
    const session: BundleSession = { kube, files, clock, podNamespace, signal, stopped };
    await collectVersions(session, release);
    const objects = await collectObjects(session);
    await collectEvents(session);
    collectExplanations(session, objects);
    await collectPods(session);
  } finally {
    await kube.close();
  }
  files.addYaml('manifest.yaml', describeContent(files, time, release));
  const folder = basename(path).replace(/(\.tar)?(\.gz|\.tgz)?$/, '');
  const target = { path, flag: '--output-file', signal: stopped };
  await writeBundle(target, { folder, time, files: files.files });
  options.print(formatResult(path, files, options.output));
}

async function requireNewFile(path: string): Promise<void> {
  if (await lstat(path).catch(() => undefined))
    throw new ProviderError('OUTPUT_REJECTED', `--output-file: ${path} exists. Use another path.`);
}

/** A bundle that has nothing but refused connections would be of no use. */
async function requireServer(kube: BundleSession['kube'], signal: AbortSignal): Promise<void> {
  try {
    await kube.raw('GET', '/version', undefined, signal);
  } catch (error) {
    if (isUnreachable(error)) throw error;
  }
}

function describeContent(files: BundleFiles, time: Date, release: string): object {
  return {
    program: `cluster-provider-talos ${release}`,
    time: formatTime(time),
    files: files.files.map(({ path, text }) => ({ path, bytes: Buffer.byteLength(text) })),
    leftOut: [
      { what: 'Secrets', why: 'They are never read, neither their names nor their content.' },
      ...files.leftOut,
    ],
    hiddenValues: files.hidden,
    hiding: [...objectRuleNames, ...textRuleNames],
  };
}

function formatResult(path: string, files: BundleFiles, output: SupportBundleSettings['output']): string {
  const { hidden: hiddenValues, leftOut } = files;
  const paths = files.files.map((file) => file.path);
  if (output !== 'text') {
    const value: CommandOutput<'support-bundle'> = { file: path, contents: paths, hiddenValues, leftOut: [...leftOut] };
    return formatStructured(value, output);
  }
  const lines = leftOut.map(({ what, why }) => `  ${what}: ${why}`);
  return [
    `Wrote ${path}: ${paths.length} files, with ${hiddenValues} values hidden. Read it before you hand it on.`,
    ...(lines.length > 0 ? ['Left out:', ...lines] : []),
  ].join('\n');
}
