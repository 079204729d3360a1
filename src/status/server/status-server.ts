import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type ServerProtection, toHttpRejection } from '../../server/token-authorizer.ts';
import { namesLoopback, viewerAccess } from './access.ts';
import type { EventStreams } from './event-streams.ts';
import { contentTypeOf, type PageFile } from './page-files.ts';
import { InvalidViewError, type ViewRouter } from './view-router.ts';

export interface StatusServerOptions {
  readonly router: ViewRouter;
  readonly streams: EventStreams;
  readonly files: readonly PageFile[];
  /** Absent: only for a server that listens on a loopback address. */
  readonly protection?: ServerProtection | undefined;
}

/** More than the streams: each viewer also needs connections for the page. */
const maxConnections = 256;

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types',
].join('; ');

const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': contentSecurityPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

const rejections = {
  unauthenticated: 'A bearer token of the platform cluster is required.',
  forbidden:
    'The user may not list every kind that the status page shows: bind the ClusterRole of config/rbac/status-reader.yaml.',
  unavailable: 'The platform cluster cannot authorize requests now. Try again.',
} as const;

/** The page at `/`, its files, and JSON below `/api/v1`. It has no route that changes anything. */
export function createStatusServer(options: StatusServerOptions): FastifyInstance {
  const { router, streams, files, protection } = options;
  const common = { routerOptions: { maxParamLength: 600 }, forceCloseConnections: true, bodyLimit: 1024 };
  const app: FastifyInstance = protection
    ? (fastify({ ...common, https: protection.tls }) as unknown as FastifyInstance)
    : fastify(common);
  app.server.maxConnections = maxConnections;
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(securityHeaders);
    return await rejectUnauthorized(request, reply, protection);
  });
  app.setErrorHandler((error, _, reply) => {
    if (error instanceof InvalidViewError) return sendError(reply, 400, error.message);
    return sendError(reply, 500, 'The view cannot be built. The log of the provider says why.');
  });
  app.setNotFoundHandler((_, reply) => sendError(reply, 404, 'There is nothing at this path.'));
  servePage(app, files);
  serveViews(app, router);
  serveStreams(app, router, streams);
  return app;
}

/** The page itself shows nothing, so that a browser can load it before the user has given a token. */
async function rejectUnauthorized(
  { headers, url }: FastifyRequest,
  reply: FastifyReply,
  protection: ServerProtection | undefined,
): Promise<FastifyReply | undefined> {
  if (!protection) {
    if (namesLoopback(headers.host)) return undefined;
    return sendError(reply, 403, 'Without a token the status page is served at localhost only.');
  }
  if (!url.startsWith('/api/')) return undefined;
  const verdict = await protection.access.review(headers.authorization, ...viewerAccess);
  if (verdict === 'allowed') return undefined;
  const { code, headers: extra } = toHttpRejection(verdict);
  return sendError(reply.headers(extra), code, rejections[verdict]);
}

const sendError = (reply: FastifyReply, code: number, error: string): FastifyReply => reply.code(code).send({ error });

function servePage(app: FastifyInstance, files: readonly PageFile[]): void {
  for (const { path, content } of files) {
    const isIndex = path === 'index.html';
    app.get(isIndex ? '/' : `/${path}`, (_, reply) => {
      // The name of an asset changes with its content.
      if (!isIndex) reply.header('cache-control', 'public, max-age=31536000, immutable');
      return reply.type(contentTypeOf(path)).send(content);
    });
  }
}

function serveViews(app: FastifyInstance, router: ViewRouter): void {
  app.get('/api/v1/*', async ({ url }, reply) => {
    const state = await router.render(router.find(url.slice('/api/v1/'.length)));
    if (state === undefined) return sendError(reply, 404, 'There is no such object of this provider.');
    return reply.type('application/json; charset=utf-8').send(state);
  });
}

function serveStreams(app: FastifyInstance, router: ViewRouter, streams: EventStreams): void {
  app.get('/api/v1/events', { exposeHeadRoute: false }, async ({ query }, reply) => {
    const { view = 'fleet' } = query as { readonly view?: unknown };
    const found = router.find(String(view));
    if (streams.isFull) {
      reply.header('retry-after', '10');
      return sendError(reply, 503, 'Too many viewers are connected. Read the JSON of the view instead.');
    }
    reply.hijack();
    const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' };
    reply.raw.writeHead(200, headers as Record<string, string>);
    await streams.serve(reply.raw, () => router.render(found));
    return reply;
  });
}
