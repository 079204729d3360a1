import { KubeError } from '../errors.ts';
import type { KubeObject } from '../resource.ts';
import { type ApiStatus, parseApiStatus } from './api-status.ts';

/** A `BOOKMARK` carries only a newer `metadata.resourceVersion`. */
export interface WatchEvent<T extends KubeObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

const eventTypes: readonly string[] = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'];

/**
 * Parses one line of a watch. Throws the error of an `ERROR` event, and a `BadAnswer` for a line that is not an event.
 */
export function parseWatchEvent<T extends KubeObject>(path: string, line: string): WatchEvent<T> {
  const event = parseLine(path, line);
  if (event.type === 'ERROR') {
    const failure = parseApiStatus((event.object ?? {}) as ApiStatus);
    throw new KubeError({ ...failure, message: `watch ${path}: ${failure.status} ${failure.message}` });
  }
  const object = event.object as T | undefined;
  if (!eventTypes.includes(event.type ?? '') || !object?.metadata) throw invalidLineError(path);
  return { type: event.type as WatchEvent<T>['type'], object };
}

function parseLine(path: string, line: string): { type?: string; object?: unknown } {
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed === 'object' && parsed !== null) return parsed;
  } catch {
    // Thrown below without a cause: the parser's error quotes the line, which may hold a Secret.
  }
  throw invalidLineError(path);
}

function invalidLineError(path: string): KubeError {
  return new KubeError({ status: 0, reason: 'BadAnswer', message: `watch ${path}: a line that is not an event` });
}
