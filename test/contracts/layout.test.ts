import { builtinModules } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findCycles } from './import-cycles.ts';
import { importsOf, isTestFile, projectFiles, readProjectFile, sourceFiles } from './source-tree.ts';

/**
 * Allowed imports of each part of `src`: folders of `src` (with everything below them), single files, and packages.
 * Node's own modules are allowed everywhere. A file belongs to the first part whose path is a prefix of its own.
 */
const parts: readonly { readonly path: string; readonly may: readonly string[] }[] = [
  { path: 'src/main.ts', may: ['src/commands', 'src/lib', 'package.json'] },
  // The composition root.
  { path: 'src/commands', may: ['src', 'commander', 'modern-tar', 'pino', 'fastify', 'yaml', 'zod'] },
  {
    path: 'src/api',
    may: [
      'src/kube/resource.ts',
      'src/kube/core-types.ts',
      'src/lib/hash.ts',
      'src/lib/recorded-time.ts',
      'src/lib/text.ts',
      'src/engine/change-class.ts',
      'src/engine/config-schemas.ts',
      'src/engine/host.ts',
      'src/platforms/index.ts',
      'zod',
    ],
  },
  { path: 'src/kube', may: ['src/lib', '@kubernetes/client-node', 'undici'] },
  { path: 'src/fleet', may: ['src/kube', 'src/lib'] },
  { path: 'src/engine', may: ['src/lib', 'zod'] },
  { path: 'src/platforms/index.ts', may: ['src/platforms', 'src/engine'] },
  {
    path: 'src/platforms',
    may: ['src/engine', 'src/lib', 'src/talos/image-factory/client.ts', 'zod', 'ws', 'undici', 'semver', 'ssh2'],
  },
  {
    path: 'src/talos',
    may: [
      ...['src/engine', 'src/lib', 'zod', 'yaml', 'semver', 'undici'],
      ...[
        '@bufbuild/protobuf',
        '@connectrpc/connect',
        '@connectrpc/connect-node',
        '@peculiar/x509',
        'reflect-metadata',
      ],
    ],
  },
  // What the command and the controller share.
  { path: 'src/backup', may: ['src/lib', 'src/talos', 'age-encryption', 's3mini', 'croner', 'zod'] },
  {
    path: 'src/controllers',
    may: [
      'src/api',
      'src/backup',
      'src/kube',
      'src/engine',
      'src/platforms/index.ts',
      'src/talos',
      'src/lib',
      'yaml',
      'semver',
      'zod',
    ],
  },
  {
    path: 'src/autoscaler',
    may: [
      'src/api',
      'src/kube',
      'src/engine',
      'src/controllers',
      'src/server/mutual-tls-server.ts',
      'src/lib',
      '@bufbuild/protobuf',
      '@connectrpc/connect',
      '@connectrpc/connect-node',
    ],
  },
  // It runs in browsers: of the program it may know the form of the JSON only.
  { path: 'src/status/page', may: ['src/status/api-types.ts', 'preact'] },
  {
    path: 'src/status',
    may: ['src/api', 'src/kube', 'src/engine', 'src/controllers', 'src/talos', 'src/server', 'src/lib', 'fastify'],
  },
  { path: 'src/server', may: ['src/kube', 'src/lib', 'fastify', 'prom-client', '@peculiar/x509', 'reflect-metadata'] },
  {
    path: 'src/tracing',
    may: [
      'src/lib',
      '@opentelemetry/api',
      '@opentelemetry/sdk-trace-base',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
    ],
  },
  { path: 'src/lib', may: ['undici'] },
];

const partOf = (path: string) =>
  parts.find((part) => path === part.path || (!part.path.endsWith('.ts') && path.startsWith(`${part.path}/`)));

/** The folder that a file may import freely: a platform may not import another one. */
const homeOf = (path: string): string => {
  const part = partOf(path)?.path ?? '';
  return part === 'src/platforms' ? path.split('/').slice(0, 3).join('/') : part;
};

const isNode = (name: string) => name.startsWith('node:') || builtinModules.includes(name);
const packageOf = (name: string) =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');

function trespasses(path: string): readonly string[] {
  const may = partOf(path)?.may ?? [];
  return importsOf(path)
    .filter((name) => !isNode(name))
    .map((name) => (name.startsWith('.') ? join(dirname(path), name) : packageOf(name)))
    .filter((target) => !target.startsWith(`${homeOf(path)}/`) && target !== homeOf(path))
    .filter((target) => !may.some((allowed) => target === allowed || target.startsWith(`${allowed}/`)))
    .map((target) => `${path} → ${target}`);
}

const code = sourceFiles('src').filter((path) => !isTestFile(path));

describe('imports point one way', () => {
  test('every file of src belongs to a part', () => {
    expect(code.filter((path) => !partOf(path))).toEqual([]);
  });

  test.each(parts.map(({ path }) => path))('%s imports only what it may', (part) => {
    const inside = code.filter((path) => partOf(path)?.path === part);
    expect(inside.flatMap(trespasses)).toEqual([]);
  });

  test('nothing in src imports test', () => {
    expect(code.filter((path) => importsOf(path).some((name) => name.includes('/test/')))).toEqual([]);
  });

  test('only main.ts and the commands use process', () => {
    const free = (path: string) => path === 'src/main.ts' || path.startsWith('src/commands/');
    const touching = code.filter((path) => !free(path) && /(^|[^.\w/])process\.[a-z]/m.test(withoutComments(path)));
    expect(touching).toEqual([]);
  });

  test('imports within the project name the file with its extension', () => {
    const all = [...code, ...sourceFiles('test')];
    const vague = all.flatMap((path) =>
      importsOf(path)
        .filter((name) => name.startsWith('.') && !/\.(tsx?|mjs|json)$/.test(name))
        .map((name) => `${path}: ${name}`),
    );
    expect(vague).toEqual([]);
  });
});

test('no file imports itself in a circle, types included', () => {
  const cycles = findCycles(code, (path) =>
    importsOf(path)
      .filter((name) => name.startsWith('.'))
      .map((name) => join(dirname(path), name)),
  );
  expect(cycles).toEqual([]);
});

/** Names of the contract that every platform implements. */
const implemented = ['check', 'hasCode', 'observe', 'preview', 'provision', 'release', 'repair'];

test('no two modules of src export one name', () => {
  const homes = new Map<string, string[]>();
  for (const path of code) {
    const names = readProjectFile(path).matchAll(
      /^export (?:async )?(?:const|let|function\*?|class|interface|type)\s+(\w+)/gm,
    );
    for (const name of new Set([...names].map(([, one = '']) => one)))
      homes.set(name, [...(homes.get(name) ?? []), path]);
  }
  const twice = [...homes].filter(([name, paths]) => paths.length > 1 && !implemented.includes(name));
  expect(twice).toEqual([]);
});

const withoutComments = (path: string) => readProjectFile(path).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');

describe('files are short and in predictable places', () => {
  test('no file has more than 400 lines', () => {
    const all = [...sourceFiles('src'), ...sourceFiles('test')];
    expect(all.filter((path) => readProjectFile(path).split('\n').length > 401)).toEqual([]);
  });

  test('no default exports', () => {
    const all = [...code, ...sourceFiles('test')];
    expect(all.filter((path) => /^export default /m.test(readProjectFile(path)))).toEqual([]);
  });

  test('a test is beside the file, or in the folder, that its name begins with', () => {
    const alone = sourceFiles('src')
      .filter(isTestFile)
      .filter((path) => {
        const subject = path.replace('.test.ts', '');
        const isNamedAfter = (other: string) => subject === other || subject.startsWith(`${other}-`);
        const names = code
          .filter((other) => dirname(other) === dirname(path))
          .map((other) => other.replace(/\.tsx?$/, ''));
        return !names.some(isNamedAfter) && basename(dirname(path)) !== basename(subject);
      });
    expect(alone).toEqual([]);
  });

  test('every test file is run by a project', () => {
    const roots = ['src/', 'test/contracts/', 'test/simulators/', 'test/platforms/', 'test/kube/', 'test/e2e/'];
    const all = [...sourceFiles('src'), ...sourceFiles('test')].filter(isTestFile);
    expect(all.filter((path) => !roots.some((root) => path.startsWith(root)))).toEqual([]);
  });

  test('the simulators stay small enough to read', () => {
    const lines = sourceFiles('test/world').map((path) => readProjectFile(path).split('\n').length);
    expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThan(40_000);
  });

  test('file names are kebab-case', () => {
    const all = [...code, ...sourceFiles('test')].filter((path) => !path.startsWith('test/fixtures/'));
    const odd = all.filter((path) => !/^([a-z0-9]+(-[a-z0-9]+)*)(\.test)?\.tsx?$/.test(path.split('/').at(-1) ?? ''));
    expect(odd).toEqual([]);
  });
});

describe('forbidden text in any file', () => {
  const texts = projectFiles
    .filter((path) => !/\.(png|ico|xz|gz)$/.test(path))
    .map((path) => ({ path, text: readProjectFile(path) }));
  const offenders = (pattern: RegExp) => texts.filter(({ text }) => pattern.test(text)).map(({ path }) => path);

  test('hosts of package registries: users may have another one', () => {
    const hosts = ['registry.npmjs', 'registry.yarnpkg', 'proxy.golang', 'goproxy'].map((name) => `${name}.`);
    expect(offenders(new RegExp(hosts.map((host) => host.replaceAll('.', '\\.')).join('|')))).toEqual([]);
  });

  test('paths of a development machine', () => {
    expect(offenders(/(^|[\s"'`(=:])\/(home|Users|root|work)\/[a-z]/m)).toEqual([]);
  });

  test('the lockfile names no download hosts', () => {
    expect(readProjectFile('package-lock.json')).not.toMatch(/"resolved": "http/);
  });
});
