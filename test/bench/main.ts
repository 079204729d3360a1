import { readFile, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { calls } from './calls.ts';
import { documents } from './documents.ts';
import type { Bench, Figure } from './figure.ts';
import { grants } from './grants.ts';
import { atRest } from './rest.ts';
import { start } from './start.ts';

const benches: readonly Bench[] = [documents, calls, grants, atRest, start];
const page = 'docs/benchmarks.md';

/**
 * `npm run bench`: measures everything in one run and prints a table; `--write` puts it into `docs/benchmarks.md`,
 * `--only WORD` runs the groups whose name holds the word. Ends with 1 when a goal is missed.
 */
async function main(words: readonly string[]): Promise<number> {
  const only = words.includes('--only') ? (words[words.indexOf('--only') + 1] ?? '') : '';
  const sections: string[] = [];
  let missed = 0;
  for (const bench of benches.filter(({ name }) => name.toLowerCase().includes(only.toLowerCase()))) {
    process.stdout.write(`${bench.name} …\n`);
    if (bench.missing) {
      sections.push(`## ${bench.name}\n\nNot measured: ${bench.missing}\n`);
      process.stdout.write(`  not measured: ${bench.missing}\n`);
      continue;
    }
    const figures = await bench.measure((line) => process.stdout.write(`  ${line}\n`));
    missed += figures.filter(({ reached }) => reached === false).length;
    for (const { what, measured, goal } of figures)
      process.stdout.write(`  ${what}: ${measured} ${goal && `(${goal})`}\n`);
    sections.push(table(bench.name, figures));
  }
  if (words.includes('--write')) await writeFile(page, [await head(), ...sections].join('\n'));
  process.stdout.write(missed === 0 ? 'Every goal is reached.\n' : `${missed} goals are missed.\n`);
  return missed === 0 ? 0 : 1;
}

function table(name: string, figures: readonly Figure[]): string {
  const rows = figures.map(
    ({ what, measured, goal, reached }) =>
      `| ${what} | ${measured} | ${goal}${reached === undefined ? '' : reached ? ' ✓' : ' ✗'} |`,
  );
  return [`## ${name}`, '', '| What | Measured | Goal |', '| --- | --- | --- |', ...rows, ''].join('\n');
}

async function head(): Promise<string> {
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
  const [cpu] = cpus();
  const machine = `${cpus().length} cores (${cpu?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}`;
  return [
    '# Benchmarks',
    '',
    'Made by `npm run bench -- --write`; everything in one run, so that ratios compare like with like.',
    '',
    `Version ${version}, ${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${machine}.`,
    '',
  ].join('\n');
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`It could not be measured: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
