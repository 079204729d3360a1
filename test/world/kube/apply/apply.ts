import type { Context } from '../context.ts';
import { unsupportedMediaType } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import type { Target, Written } from '../objects.ts';

export function applyPatch(_context: Context, _target: Target, _patch: JsonObject): Written {
  throw unsupportedMediaType([]);
}
