import { type FieldError, fieldErrors, throwIfFieldErrors } from '../errors.ts';
import type { RequestContext } from './context.ts';

const optionKinds: Readonly<Record<string, string>> = {
  create: 'CreateOptions',
  update: 'UpdateOptions',
  patch: 'PatchOptions',
  delete: 'DeleteOptions',
  deletecollection: 'DeleteOptions',
};

/** Refuses invalid query parameters of a write, with 422. */
export function checkWriteOptions({ info }: RequestContext): void {
  const kind = optionKinds[info.verb];
  if (!kind) return;
  const errors: FieldError[] = [];
  for (const value of info.query.getAll('dryRun')) {
    if (value !== 'All') errors.push(fieldErrors.unsupported('dryRun', value, ['All']));
  }
  const validation = info.query.get('fieldValidation') ?? '';
  if (!['', 'Ignore', 'Warn', 'Strict'].includes(validation)) {
    errors.push(fieldErrors.unsupported('fieldValidation', validation, ['', 'Ignore', 'Strict', 'Warn']));
  }
  const manager = info.query.get('fieldManager') ?? '';
  if (manager.length > 128) errors.push(fieldErrors.tooLong('fieldManager', 128));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  if (/[\u0000-\u001f\u007f]/.test(manager)) {
    errors.push(fieldErrors.invalid('fieldManager', manager, 'should only contain printable characters'));
  }
  throwIfFieldErrors({ group: 'meta.k8s.io', plural: kind.toLowerCase(), kind }, '', errors);
}
