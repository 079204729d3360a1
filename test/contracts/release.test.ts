import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { projectRoot } from '../setup/generated-files.ts';
import { copiesOf } from '../setup/image-tree.ts';
import { projectFiles, readProjectFile } from './source-tree.ts';

interface Step {
  readonly name?: string;
  readonly id?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Workflow {
  readonly on: { readonly push: { readonly tags: readonly string[]; readonly branches?: unknown } };
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, { readonly permissions: object; readonly steps: readonly Step[] }>>;
}

const partsFile = 'parts.cdx.json';
const path = '.github/workflows/release.yml';
const text = readProjectFile(path);
const workflow = parse(text) as Workflow;
const { steps, permissions } = workflow.jobs['image']!;
const guide = readProjectFile('docs/release.md');
const uses = (action: string) => steps.filter((step) => step.uses?.startsWith(`${action}@`));
const commands = steps.flatMap(({ run }) => run?.split('\n') ?? []);

interface Part {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly unknown[];
}
const listText = readProjectFile(`dist/${partsFile}`);
const list = JSON.parse(listText) as { readonly metadata: { component: Part }; readonly components: readonly Part[] };
const called = ({ name, version }: Part) => `${name} ${version}`;

describe('the list of parts', () => {
  test('T63: names every package with a licence file, and no other, each once', () => {
    const notices = readProjectFile('dist/THIRD-PARTY-NOTICES.txt');
    const told = [...notices.matchAll(/(?:^|-{80}\n\n)(\S+ \S+) \(/g)].map(([, part = '']) => part);
    expect(told.length).toBeGreaterThan(50);
    expect(list.components.map(called).sort()).toEqual(told.sort());
  });

  test('T63: contains the name, the licence and the hash of each installed package', () => {
    const { packages } = JSON.parse(readProjectFile('package-lock.json')) as {
      packages: Record<string, { integrity?: string }>;
    };
    const locked = new Set(Object.values(packages).map(({ integrity }) => integrity));
    for (const part of list.components) {
      const [hash] = part.hashes ?? [];
      expect(locked, called(part)).toContain(`sha512-${Buffer.from(hash?.content ?? '', 'hex').toString('base64')}`);
      expect(part.licenses?.length, called(part)).toBeGreaterThan(0);
      expect(part.purl).toBe(`pkg:npm/${part.name.replace('@', '%40')}@${part.version}`);
    }
  });

  test('T63: is reproducible from the same source: sorted, without date, serial number or build path', () => {
    expect(listText).not.toMatch(/timestamp|serialNumber|resolved|distribution|https:/);
    const names = list.components.map(({ name, version }) => `${name}@${version}`);
    expect(names).toEqual([...names].sort());
    const { name, version } = JSON.parse(readProjectFile('package.json')) as Part;
    expect(list.metadata.component).toMatchObject({ name, version });
  });
});

describe('the program', () => {
  const folder = 'dist/parts';
  const parts = readdirSync(join(projectRoot, folder)).map((name) => readProjectFile(`${folder}/${name}`));

  test('takes a byte of memory for each of its letters: one beyond Latin-1 would double all of its file', () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for.
    for (const text of parts) expect(/[^\x00-\xff]/.exec(text)?.[0]).toBeUndefined();
  });

  test("requires none of Node's deprecated modules", () => {
    for (const text of parts) expect(/require\("(punycode|domain|sys)"\)/.exec(text)?.[0]).toBeUndefined();
  });

  /** The error stream of the program; `options` are arguments of Node. */
  const logOf = (...options: string[]): string => {
    const words = [...options, 'dist/main.js', 'init', '--environment=a', '--provider-name=b', '--kubeconfig=/missing'];
    return spawnSync(process.execPath, words, { cwd: projectRoot, encoding: 'utf8' }).stderr;
  };

  test('writes only JSON to its log, also for deprecation warnings of Node', () => {
    const lines = logOf('--pending-deprecation').trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).message)).toEqual(['command failed']);
  });

  test("uses the bundled undici for its connections, and not Node's own, which is loaded first", () => {
    const dispatcher = 'globalThis[Symbol.for("undici.globalDispatcher.1")]';
    const tell = `process.on("exit",()=>process.stderr.write("class:"+${dispatcher}.constructor))`;
    const [, text] = /class:(.*)/.exec(logOf('--import', `data:text/javascript,${tell}`)) ?? [];
    // The bundler preserves class names with this helper.
    expect(text).toContain('__name(');
  });

  test('logs warnings of Node in its own format', () => {
    const warn = 'process.on("newListener",(name)=>{if(name==="warning")process.emitWarning("odd",{code:"X1"})})';
    const [first] = logOf('--import', `data:text/javascript,${warn}`).split('\n');
    expect(JSON.parse(first ?? '')).toMatchObject({ level: 'warn', warning: 'Warning', code: 'X1', error: 'odd' });
  });

  test('has lines short enough for stack traces', () => {
    const longest = Math.max(...parts.flatMap((text) => text.split('\n').map(({ length }) => length)));
    expect(longest).toBeLessThan(5000);
  });
});

describe('the release', () => {
  test('T63: runs only for a tag, with rights to read and to sign only', () => {
    expect(workflow.on).toEqual({ push: { tags: ['v*.*.*'] } });
    expect([workflow.permissions, permissions]).toEqual([{}, { contents: 'read', 'id-token': 'write' }]);
  });

  test('T63: uses actions by the hash of a commit, with their version beside it', () => {
    const used = [...text.matchAll(/uses: (.*)$/gm)].map(([, action = '']) => action);
    expect(used.length).toBe(steps.filter((step) => step.uses).length);
    for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test('T63: builds the architectures of the guide, in one image of the default tag of the chart', () => {
    const [build] = uses('docker/build-push-action');
    const { platforms, tags, provenance, sbom, push } = build?.with ?? {};
    for (const platform of String(platforms).split(',')) expect(guide).toContain(`\`${platform}\``);
    expect([push, provenance, sbom]).toEqual([true, 'mode=max', true]);
    // The chart's default tag is its appVersion.
    const { appVersion } = parse(readProjectFile('charts/cluster-provider-talos/Chart.yaml')) as { appVersion: string };
    expect(appVersion).toBe((JSON.parse(readProjectFile('package.json')) as Part).version);
    expect(tags).toBe(`\${{ vars.IMAGE_REPOSITORY }}:\${{ steps.version.outputs.version }}`);
  });

  test('T63: runs no build command under emulation of another architecture', () => {
    const stages = readProjectFile('Dockerfile')
      .split(/^FROM /m)
      .slice(1);
    const foreign = stages.filter((testbed) => !testbed.startsWith(`--platform=\${BUILDPLATFORM:-`));
    expect(foreign.length).toBeGreaterThan(0);
    for (const testbed of foreign) expect(testbed).not.toMatch(/^RUN /m);
  });

  test('T63: signs the list of parts in the image, and everything by its digest', () => {
    const inImage = copiesOf(readProjectFile('Dockerfile')).find(({ from }) => from === 'dist')?.to;
    expect(commands.join('\n')).toContain(`:${inImage}/${partsFile}" ${partsFile}`);
    expect(commands.join('\n')).toContain(`--type cyclonedx --predicate ${partsFile} "$IMAGE"`);
    expect(guide).toContain(`\`${inImage}/${partsFile}\``);
    const signed = [...text.matchAll(/^ +IMAGE: (.*)$/gm)].map(([, image]) => image);
    expect(new Set(signed)).toEqual(new Set([`\${{ env.REPOSITORY }}@\${{ steps.build.outputs.digest }}`]));
  });

  test('T63: verifies itself with the commands of the guide', () => {
    const verifying = commands.map((line) => line.trim()).filter((line) => line.startsWith('cosign verify'));
    expect(verifying).toHaveLength(2);
    for (const line of verifying) expect(guide).toContain(line.replace(/ > .*$/, ''));
    expect(guide).toContain(`/${path}@refs/tags/v`);
    expect(guide).toContain(/ISSUER: (\S+)/.exec(text)?.[1]);
  });

  test('T63: takes registry and login from the repository, and the guide names all its variables', () => {
    const taken = [...text.matchAll(/\$\{\{ (?:vars|secrets)\.(\w+) \}\}/g)].map(([, name = '']) => name);
    expect(taken.length).toBeGreaterThan(3);
    for (const name of taken) expect(guide).toContain(`\`${name}\``);
  });

  test('T63: passes untrusted values to a shell only by the environment', () => {
    const workflows = projectFiles.filter((file) => file.startsWith('.github/workflows/'));
    expect(workflows).toContain(path);
    for (const file of workflows) {
      const { jobs } = parse(readProjectFile(file)) as Workflow;
      const lines = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run = '' }) => run.split('\n')));
      expect(lines.filter((line) => line.includes('${{'))).toEqual([]);
    }
  });

  test('T63: the image is built from files in the build context', () => {
    const ignore = readProjectFile('.dockerignore').split('\n');
    const [, build = ''] = readProjectFile('Dockerfile').split(/^FROM /m);
    for (const [, words = ''] of build.matchAll(/^COPY (.*)$/gm)) {
      const sources = words.split(' ').slice(0, -1);
      for (const source of sources) expect(ignore).toContain(`!${source}`);
    }
  });
});
