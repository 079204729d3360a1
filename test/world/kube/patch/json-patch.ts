import { ApiError, badRequestError } from '../errors.ts';
import { clone, equal, isObject } from '../json.ts';

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** RFC 6902. Throws 422 when a test fails or a path does not exist, like the API server. */
export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch))
    throw badRequestError('json: cannot unmarshal object into Go value of type jsonpatch.Patch');
  let result = clone(document);
  for (const operation of patch as Operation[]) result = apply(result, operation);
  return result;
}

/** The API server does not report the failed operation; `_message` is for debugging. */
const patchError = (_message: string): ApiError =>
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
      return setAt(document, tokens(path), value, 'add');
    case 'replace':
      return setAt(document, tokens(path), value, 'replace');
    case 'remove':
      return removeAt(document, tokens(path));
    case 'test': {
      const found = parentOf(document, tokens(path));
      if (!equal(found ?? null, value ?? null)) throw patchError(`testing value ${path} failed`);
      return document;
    }
    case 'copy':
      return setAt(document, tokens(path), clone(getAt(document, tokens(from ?? ''))), 'add');
    case 'move': {
      const moved = getAt(document, tokens(from ?? ''));
      return setAt(removeAt(document, tokens(from ?? '')), tokens(path), moved, 'add');
    }
    default:
      throw patchError(`Unexpected kind: ${op}`);
  }
}

function parentOf(document: unknown, path: readonly string[]): unknown {
  let here = document;
  for (const part of path) {
    if (Array.isArray(here)) here = here[Number(part)];
    else if (isObject(here)) here = here[part];
    else return undefined;
  }
  return here;
}

function getAt(document: unknown, path: readonly string[], message?: string): unknown {
  const found = parentOf(document, path);
  if (found === undefined) throw patchError(message ?? `doc is missing path: /${path.join('/')}: missing value`);
  return found;
}

function setAt(document: unknown, path: readonly string[], value: unknown, op: 'add' | 'replace'): unknown {
  const last = path.at(-1);
  if (last === undefined) return value;
  const parent = getAt(
    document,
    path.slice(0, -1),
    `${op} operation does not apply: doc is missing path: "/${path.join('/')}": missing value`,
  );
  if (Array.isArray(parent)) {
    const index = last === '-' ? parent.length : Number(last);
    if (!Number.isInteger(index) || index < 0 || index > parent.length)
      throw patchError(`Unable to access invalid index: ${last}`);
    parent.splice(index, op === 'replace' ? 1 : 0, value);
  } else if (isObject(parent)) {
    parent[last] = value;
  } else {
    throw patchError(`doc is missing path: /${path.join('/')}`);
  }
  return document;
}

function removeAt(document: unknown, path: readonly string[]): unknown {
  getAt(document, path, `remove operation does not apply: doc is missing key: /${path.join('/')}: missing value`);
  const parent = parentOf(document, path.slice(0, -1));
  const last = path.at(-1) ?? '';
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else if (isObject(parent)) delete parent[last];
  return document;
}
