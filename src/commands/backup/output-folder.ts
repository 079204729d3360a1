import { stat } from 'node:fs/promises';
import { ProviderError } from '../../lib/errors.ts';

/** Throws before anything is read if `--output-folder` names no folder. */
export async function requireFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  if (!found?.isDirectory())
    throw new ProviderError(
      'OUTPUT_REJECTED',
      `--output-folder: ${folder} is no folder. Create it, or name another one.`,
    );
}
