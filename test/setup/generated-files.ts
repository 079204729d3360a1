import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { buildCrds } from '../../src/api/crd.ts';
import { chartValueTable } from './chart-values.ts';
import { renderDashboard } from './dashboard.ts';
import { formatTable } from './markdown-table.ts';
import { permissionTables } from './permission-tables.ts';
import { renderPicture } from './picture.ts';
import { recordTable } from './record-table.ts';
import { referencePages } from './reference-pages.ts';

export const projectRoot = fileURLToPath(new URL('../..', import.meta.url));

/** Every generated file except for the Talos client, by its path below the root, with its current content. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const text = (path: string): string => readFileSync(join(projectRoot, path), 'utf8');
  return new Map([
    ...crdFiles(),
    // Helm reads no files outside of a chart.
    ['charts/cluster-provider-talos/roles.yaml', `# Made by npm run generate.\n${text('config/rbac/role.yaml')}`],
    ['charts/cluster-provider-talos/monitoring/dashboard.json', renderDashboard()],
    [
      'charts/cluster-provider-talos/README.md',
      withTables(text('charts/cluster-provider-talos/README.md'), {
        values: () => chartValueTable(text('charts/cluster-provider-talos/values.yaml')),
      }),
    ],
    ...referencePages(),
    [
      'docs/adr/README.md',
      withTables(text('docs/adr/README.md'), { records: () => recordTable(join(projectRoot, 'docs/adr')) }),
    ],
    ['docs/picture.svg', renderPicture()],
    ['docs/security.md', withTables(text('docs/security.md'), permissionTables(formatTable))],
  ]);
}

function crdFiles(): [path: string, content: string][] {
  return buildCrds().map((crd) => {
    const [plural, ...group] = crd.metadata.name.split('.');
    const yaml = stringify(crd, { lineWidth: 0 });
    return [`config/crd/${group.join('.')}_${plural}.yaml`, `# Made by npm run generate.\n${yaml}`];
  });
}

/** The text with what stands between each pair of markers replaced. Throws when a marker names no table. */
export function withTables(text: string, known: Readonly<Record<string, () => string>>): string {
  return text.replace(
    /(<!-- generated:([a-z]+) -->\n)[\s\S]*?(<!-- \/generated -->)/g,
    (_, begin: string, name: string, end: string) => {
      const render = known[name];
      if (!render) throw new Error(`There is no generated table ${name}`);
      return `${begin}\n${render()}\n\n${end}`;
    },
  );
}
