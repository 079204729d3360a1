import { definePlatformErrors, type ErrorCodeInfo } from '../../lib/errors.ts';

export const toyErrorCodes = {
  TOY_FOLDER_MISSING: { retry: 'after-change', message: 'The folder does not exist. Correct toy.folder.' },
  TOY_NOT_OURS: { retry: 'after-change', message: 'A folder of this name has another owner.' },
} as const satisfies Record<string, ErrorCodeInfo>;

export const ToyError = definePlatformErrors(toyErrorCodes);
