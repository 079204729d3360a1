// The list of parts of the program (CycloneDX 1.5), as `npm sbom` knows them from the lockfile: name, version, licence and
// hash of each package that something was taken from. The same tree gives the same bytes.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';

/** Where it lies in `dist`, and so in the image. */
export const partsFile = 'parts.cdx.json';

/**
 * The list as text. `packages`: their manifests. Throws for one that the lockfile does not have: then what was
 * bundled is not what was locked.
 */
export function listOfParts(packages) {
  const all = askNpm();
  const wanted = new Map(packages.map((manifest) => [`${manifest.name}@${manifest.version}`, manifest]));
  const known = new Set(all.components.map((part) => `${part.name}@${part.version}`));
  const unknown = [...wanted.keys()].filter((part) => !known.has(part));
  if (unknown.length > 0) throw new Error(`Not in package-lock.json: ${unknown.join(', ')}. Run npm ci.`);
  // A package may lie in several folders: it is one part.
  const parts = new Map();
  for (const part of all.components) {
    const key = `${part.name}@${part.version}`;
    const manifest = wanted.get(key);
    if (manifest) parts.set(key, describe(part, manifest));
  }
  const list = {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { lifecycles: [{ phase: 'build' }], component: program() },
    components: [...parts.keys()].sort().map((key) => parts.get(key)),
  };
  return `${JSON.stringify(list, null, 2)}\n`;
}

/**
 * What stays the same from one run and one npm to the next: no date, no number, nothing of where it was fetched from. A manifest of
 * the older form has a list of licences, which npm passes over.
 */
function describe({ type, name, version, purl, hashes, licenses }, manifest) {
  const older = (manifest.licenses ?? []).map(({ type: id }) => ({ license: { id } }));
  return { type, 'bom-ref': purl, name, version, purl, hashes, licenses: licenses ?? older };
}

function program() {
  const { name, version, license } = JSON.parse(readFileSync('package.json', 'utf8'));
  const purl = `pkg:npm/${name}@${version}`;
  return { type: 'application', 'bom-ref': purl, name, version, purl, licenses: [{ license: { id: license } }] };
}

/**
 * Everything that the lockfile has: with `--omit=dev` npm 11 also leaves out what is needed by us and by a tool of the tests, too.
 * npm as it came with this Node: its script where it is known, else the command.
 */
function askNpm() {
  const script = process.env.npm_execpath;
  const words = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx'];
  const [command, ...args] = script?.endsWith('.js') ? [process.execPath, script, ...words] : ['npm', ...words];
  return JSON.parse(
    execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 2 ** 26 }),
  );
}
