import { randomBytes } from 'node:crypto';
import { lstat, rename, rm, writeFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { ProviderError } from '../../lib/errors.ts';
import { SecretString } from '../../lib/secret-string.ts';
import type { AccessSettings } from '../flags/access-settings.ts';

type OutputSettings = Pick<AccessSettings, 'outputFile' | 'output' | 'force'> & {
  print(text: string): void;
};

/** Throws before anything is issued if the file of `--output-file` cannot be a new one. */
export async function checkOutput({
  outputFile: output,
  force,
}: Pick<OutputSettings, 'outputFile' | 'force'>): Promise<void> {
  if (output === undefined) return;
  const found = await lstat(output).catch(() => undefined);
  if (found?.isDirectory()) throw new ProviderError('OUTPUT_REJECTED', `--output-file: ${output} is a folder.`);
  if (found && !force) throw fileExists(output);
}

/** Prints the text, or writes it to a file that only the user can read. An existing file is replaced as a whole. */
export async function writeCredential(yaml: SecretString, settings: OutputSettings): Promise<void> {
  const { outputFile: output, output: format, force, print } = settings;
  const text = format === 'json' ? toJson(yaml) : yaml;
  if (output === undefined) {
    print(text.reveal().trimEnd());
    return;
  }
  // Written under another name first: an existing file keeps its mode when it is opened, and others may have it open.
  const path = force ? `${output}.${randomBytes(6).toString('hex')}` : output;
  try {
    await writeFile(path, text.reveal(), { mode: 0o600, flag: 'wx' });
    if (path !== output) await rename(path, output);
  } catch (error) {
    if (path !== output) await rm(path, { force: true });
    if (isFileError(error) && error.code === 'EEXIST') throw fileExists(output);
    const why = isFileError(error) ? ` (${error.code})` : '';
    throw new ProviderError('OUTPUT_REJECTED', `--output-file: ${output} cannot be written${why}. Use another path.`, {
      cause: error,
    });
  }
}

/** kubectl and talosctl read it as well: JSON is YAML. */
const toJson = (yaml: SecretString): SecretString =>
  new SecretString(`${JSON.stringify(parse(yaml.reveal()), undefined, 2)}\n`);

const fileExists = (output: string): ProviderError =>
  new ProviderError('OUTPUT_REJECTED', `--output-file: ${output} exists. Use another path, or --force to replace it.`);

const isFileError = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && 'code' in error;
