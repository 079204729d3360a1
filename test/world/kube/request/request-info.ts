/**
 * The attributes of a request, by the rules of `apiserver: pkg/endpoints/request/requestinfo.go` for method and path.
 */
export interface RequestInfo {
  readonly isResource: boolean;
  /** get, list, watch, create, update, patch, delete, deletecollection; else the HTTP method in lower case. */
  readonly verb: string;
  readonly path: string;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly subresource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly query: URLSearchParams;
}

const truthy = (value: string | null): boolean => value !== null && value !== 'false' && value !== '0';

export function parseRequestInfo(method: string, url: string): RequestInfo {
  const request = url.indexOf('?');
  const path = request < 0 ? url : url.slice(0, request);
  const query = new URLSearchParams(request < 0 ? '' : url.slice(request + 1));
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map(decodePart);
  const start = parts[0] === 'api' ? 2 : parts[0] === 'apis' ? 3 : Number.POSITIVE_INFINITY;
  const rest = parts.slice(start);
  const base = {
    path,
    query,
    group: '',
    version: '',
    plural: '',
    subresource: '',
    namespace: undefined,
    name: undefined,
  };
  if (rest.length === 0) return { ...base, isResource: false, verb: method.toLowerCase() };
  const place = locateResource(rest);
  const named = place.name ?? nameFromSelector(query, method);
  return {
    ...base,
    ...place,
    name: named,
    isResource: true,
    group: start === 3 ? (parts[1] ?? '') : '',
    version: (start === 3 ? parts[2] : parts[1]) ?? '',
    verb: verbOf(method, place.name !== undefined, query),
  };
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function locateResource(rest: readonly string[]) {
  const [first = '', second, third, ...more] = rest;
  if (first !== 'namespaces' || second === undefined) {
    return {
      namespace: undefined,
      plural: first,
      name: second,
      subresource: [third, ...more].filter(Boolean).join('/'),
    };
  }
  const isNamespaceItself = third === undefined || third === 'status' || third === 'finalize';
  if (isNamespaceItself) return { namespace: second, plural: 'namespaces', name: second, subresource: third ?? '' };
  const [name, ...sub] = more;
  return { namespace: second, plural: third, name, subresource: sub.join('/') };
}

/** A list with a name selector counts as a request for that name, so that RBAC's resourceNames can allow it. */
function nameFromSelector(query: URLSearchParams, method: string): string | undefined {
  if (method !== 'GET') return undefined;
  return /(?:^|,)metadata\.name={1,2}([^,]+)/.exec(query.get('fieldSelector') ?? '')?.[1];
}

function verbOf(method: string, hasName: boolean, query: URLSearchParams): string {
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (truthy(query.get('watch'))) return 'watch';
      return hasName ? 'get' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return hasName ? 'delete' : 'deletecollection';
    default:
      return method.toLowerCase();
  }
}

export { truthy };
