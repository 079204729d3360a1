import { readFile, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { grantBenchmark } from './access-requests/grant-throughput.ts';
import { manyRequestsBenchmark } from './access-requests/many-requests.ts';
import { backupBenchmark } from './backups/benchmark.ts';
import { externalCallsBenchmark } from './external-calls.ts';
import { fleetBenchmark } from './fleet/benchmark.ts';
import { idleClustersBenchmark } from './idle-clusters.ts';
import { imageWriteBenchmark } from './image-write.ts';
import { machineConfigBenchmark } from './machine-configs.ts';
import type { Benchmark, Measurement } from './measurement.ts';
import { virtualMachineBenchmark } from './nas/benchmark.ts';
import { noisyNeighbourBenchmark } from './noisy-neighbours.ts';
import { publicationBenchmark } from './publication/benchmark.ts';
import { repairBenchmark } from './repair/benchmark.ts';
import { bareServerBenchmark } from './robot/benchmark.ts';
import { rolloutBenchmark } from './rollouts/benchmark.ts';
import { scrapeBenchmark } from './scrape.ts';
import { startupBenchmark } from './startup.ts';

const benchmarks: readonly Benchmark[] = [
  machineConfigBenchmark,
  externalCallsBenchmark,
  grantBenchmark,
  manyRequestsBenchmark,
  idleClustersBenchmark,
  publicationBenchmark,
  fleetBenchmark,
  virtualMachineBenchmark,
  bareServerBenchmark,
  rolloutBenchmark,
  repairBenchmark,
  backupBenchmark,
  imageWriteBenchmark,
  startupBenchmark,
  scrapeBenchmark,
  noisyNeighbourBenchmark,
];
const benchmarksPage = 'docs/development/benchmarks.md';

/**
 * `npm run bench`: measures and prints tables; `--write` puts them into `docs/development/benchmarks.md`, each group with the day and
 * the machine of its run; `--only WORD` runs the groups whose name holds the word and leaves the others as they were. Ends with 1 when a goal is missed.
 */
async function main(words: readonly string[]): Promise<number> {
  if (words.includes('--help')) {
    process.stdout.write(`Usage: npm run bench -- [--only WORD] [--write]\nGroups:\n`);
    for (const { name } of benchmarks) process.stdout.write(`  ${name}\n`);
    return 0;
  }
  const only = words.includes('--only') ? (words[words.indexOf('--only') + 1] ?? '') : '';
  const sections = new Map<string, string>();
  let missed = 0;
  for (const bench of benchmarks.filter(({ name }) => name.toLowerCase().includes(only.toLowerCase()))) {
    process.stdout.write(`${bench.name} …\n`);
    if (bench.missing) {
      sections.set(bench.name, `## ${bench.name}\n\nNot measured: ${bench.missing}\n`);
      process.stdout.write(`  not measured: ${bench.missing}\n`);
      continue;
    }
    const figures = await bench.measure((line) => process.stdout.write(`  ${line}\n`));
    missed += figures.filter(({ reached }) => reached === false).length;
    for (const { what, measured, goal } of figures)
      process.stdout.write(`  ${what}: ${measured} ${goal && `(${goal})`}\n`);
    sections.set(bench.name, formatMeasurements(bench.name, await describeMachine(), figures));
  }
  if (words.includes('--write')) await writePage(sections);
  process.stdout.write(missed === 0 ? 'Every goal is reached.\n' : `${missed} goals are missed.\n`);
  return missed === 0 ? 0 : 1;
}

function formatMeasurements(name: string, about: string, figures: readonly Measurement[]): string {
  const rows = figures.map(
    ({ what, measured, goal, reached }) =>
      `| ${what} | ${measured} | ${goal}${reached === undefined ? '' : reached ? ' ✓' : ' ✗'} |`,
  );
  return [`## ${name}`, '', about, '', '| What | Measured | Goal |', '| --- | --- | --- |', ...rows, ''].join('\n');
}

/** The machine and the time of the measurement. */
async function describeMachine(): Promise<string> {
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
  const [cpu] = cpus();
  const machine = `${cpus().length} cores (${cpu?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}`;
  return `Version ${version}, ${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${machine}.`;
}

/** Every group that was measured, now or before, in the order of the groups. What people wrote above the first one stays. */
async function writePage(measured: ReadonlyMap<string, string>): Promise<void> {
  const [head = '', ...before] = (await readFile(benchmarksPage, 'utf8')).split(/^(?=## )/m);
  const known = new Map(before.map((section) => [/^## (.*)$/m.exec(section)?.[1] ?? '', section.trimEnd()]));
  const sections = benchmarks.map(({ name }) => measured.get(name)?.trimEnd() ?? known.get(name));
  await writeFile(
    benchmarksPage,
    `${[`${head.trimEnd()}\n`, ...sections.flatMap((section) => (section ? [section, ''] : []))].join('\n')}`,
  );
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`It could not be measured: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
