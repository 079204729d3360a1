import { ApiError, badRequest } from '../errors.ts';
import { clone, equal, isObject } from '../json.ts';

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** RFC 6902. Throws 422 when a test fails or a path does not exist, as the API server does. */
export function jsonPatch(document: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw badRequest('json: cannot unmarshal object into Go value of type jsonpatch.Patch');
  let result = clone(document);
  for (const operation of patch as Operation[]) result = apply(result, operation);
  return result;
}

/** The API server keeps to itself which operation failed; `_message` is for whoever debugs here. */
const refuse = (_message: string): ApiError =>
  new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});

const tokens = (path: string): string[] =>
  path === ''
    ? []
    : path
        .split('/')
        .slice(1)
        .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

function apply(document: unknown, { op, path, from, value }: Operation): unknown {
  switch (op) {
    case 'add':
      return put(document, tokens(path), value, 'add');
    case 'replace':
      return put(document, tokens(path), value, 'replace');
    case 'remove':
      return take(document, tokens(path));
    case 'test': {
      const found = find(document, tokens(path));
      if (!equal(found ?? null, value ?? null)) throw refuse(`testing value ${path} failed`);
      return document;
    }
    case 'copy':
      return put(document, tokens(path), clone(get(document, tokens(from ?? ''))), 'add');
    case 'move': {
      const moved = get(document, tokens(from ?? ''));
      return put(take(document, tokens(from ?? '')), tokens(path), moved, 'add');
    }
    default:
      throw refuse(`Unexpected kind: ${op}`);
  }
}

function find(document: unknown, path: readonly string[]): unknown {
  let here = document;
  for (const part of path) {
    if (Array.isArray(here)) here = here[Number(part)];
    else if (isObject(here)) here = here[part];
    else return undefined;
  }
  return here;
}

function get(document: unknown, path: readonly string[], message?: string): unknown {
  const found = find(document, path);
  if (found === undefined) throw refuse(message ?? `doc is missing path: /${path.join('/')}: missing value`);
  return found;
}

function put(document: unknown, path: readonly string[], value: unknown, op: 'add' | 'replace'): unknown {
  const last = path.at(-1);
  if (last === undefined) return value;
  const parent = get(
    document,
    path.slice(0, -1),
    `${op} operation does not apply: doc is missing path: "/${path.join('/')}": missing value`,
  );
  if (Array.isArray(parent)) {
    const index = last === '-' ? parent.length : Number(last);
    if (!Number.isInteger(index) || index < 0 || index > parent.length)
      throw refuse(`Unable to access invalid index: ${last}`);
    parent.splice(index, op === 'replace' ? 1 : 0, value);
  } else if (isObject(parent)) {
    parent[last] = value;
  } else {
    throw refuse(`doc is missing path: /${path.join('/')}`);
  }
  return document;
}

function take(document: unknown, path: readonly string[]): unknown {
  get(document, path, `remove operation does not apply: doc is missing key: /${path.join('/')}: missing value`);
  const parent = find(document, path.slice(0, -1));
  const last = path.at(-1) ?? '';
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else if (isObject(parent)) delete parent[last];
  return document;
}
