import type { Resource } from '../builtin/resources.ts';
import type { ApiObject } from '../store.ts';

/** Keeps the books after an update that was no apply. */
export function trackUpdate(
  _resource: Resource,
  _old: ApiObject | undefined,
  _next: ApiObject,
  _by: { readonly manager: string; readonly subresource: string },
): void {}
