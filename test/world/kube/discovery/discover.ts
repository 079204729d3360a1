import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Context } from '../context.ts';
import { negotiate } from '../negotiate.ts';
import { type Answer, ok, text } from '../respond.ts';
import { aggregatedDiscovery } from './aggregated.ts';
import { groupsOf } from './groups.ts';
import { health } from './health.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from './legacy.ts';
import { openApiV2, openApiV3, openApiV3Index } from './openapi.ts';
import { issuerDocument, keySet } from './openid.ts';
import { versionInfo } from './version.ts';

/** Answers the paths that name no resource: what the server says about itself. */
export function discover(context: Context, message: IncomingMessage): Answer {
  const path = context.info.path.replace(/(?<=.)\/+$/, '');
  const [first, second, third, ...more] = path.slice(1).split('/');
  if (more.length === 0 && (first === 'api' || first === 'apis')) {
    return first === 'api' ? core(context, message, second, third) : groups(context, message, second, third);
  }
  switch (path) {
    case '/':
      return ok({ paths: rootPaths(context) });
    case '/version':
      return ok(versionInfo(context.gitVersion));
    case '/openapi/v2':
      return tagged(message, openApiV2(context.registry, context.gitVersion));
    case '/openapi/v3':
      return tagged(message, openApiV3Index(context.registry));
    case '/.well-known/openid-configuration':
      return issuerDocument(context);
    case '/openid/v1/jwks':
      return keySet(context, message);
  }
  const document = first === 'openapi' && openApiV3(context.registry, path.slice('/openapi/v3/'.length));
  if (document) return tagged(message, document);
  return health(context, path) ?? nothing();
}

const nothing = (): Answer => text(404, '404 page not found\n');

function core(context: Context, message: IncomingMessage, version?: string, more?: string): Answer {
  if (more !== undefined) return nothing();
  const [group] = groupsOf(context.registry).filter((one) => one.name === '');
  if (!group) return nothing();
  if (version === undefined) {
    return aggregated(context, message, true) ?? tagged(message, apiVersions(group, context.url()));
  }
  const found = group.versions.find((one) => one.name === version);
  return found ? tagged(message, apiResourceList(group, found)) : nothing();
}

function groups(context: Context, message: IncomingMessage, name?: string, version?: string): Answer {
  const all = groupsOf(context.registry).filter((one) => one.name !== '');
  if (name === undefined) return aggregated(context, message, false) ?? tagged(message, apiGroupList(all));
  const group = all.find((one) => one.name === name);
  if (!group) return nothing();
  if (version === undefined) return tagged(message, apiGroup(group, true));
  const found = group.versions.find((one) => one.name === version);
  return found ? tagged(message, apiResourceList(group, found)) : nothing();
}

const aggregatedShape = 'APIGroupDiscoveryList';

/** Everything in one go, for whom asks for it in the Accept header. */
function aggregated({ registry }: Context, message: IncomingMessage, isCore: boolean): Answer | undefined {
  const { as, version } = negotiate(message.headers.accept, [aggregatedShape]);
  if (as !== aggregatedShape) return undefined;
  const groups = groupsOf(registry).filter((one) => (one.name === '') === isCore);
  const contentType = `application/json;g=apidiscovery.k8s.io;v=${version};as=${aggregatedShape}`;
  return tagged(message, aggregatedDiscovery(groups, version), contentType);
}

/** A document with an ETag, so that clients that keep it are told in one line that it still holds. */
function tagged(message: IncomingMessage, document: unknown, contentType = 'application/json'): Answer {
  const body = `${JSON.stringify(document)}\n`;
  const tag = `"${createHash('sha256').update(body).digest('hex').toUpperCase()}"`;
  const headers = { ETag: tag, Vary: 'Accept' };
  if (message.headers['if-none-match'] === tag) return { code: 304, body: '', contentType, headers };
  return { code: 200, body, contentType, headers };
}

function rootPaths({ registry }: Context): string[] {
  const paths = groupsOf(registry).flatMap(({ name, versions }) => {
    const root = name ? `/apis/${name}` : '/api';
    return [root, ...versions.map((version) => `${root}/${version.name}`)];
  });
  return [
    ...paths,
    '/.well-known/openid-configuration',
    '/apis',
    '/healthz',
    '/livez',
    '/openapi/v2',
    '/openapi/v3',
    '/openid/v1/jwks',
    '/readyz',
    '/version',
  ].sort();
}
