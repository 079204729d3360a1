// The software bill of materials of the program (CycloneDX 1.5), from the data of `npm sbom` in the lockfile: name,
// version, licence and hash of each bundled package. The same tree gives the same bytes.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';

/** Its path in `dist`, and so in the image. */
export const partsFile = 'parts.cdx.json';

/**
 * The SBOM as text. `packages`: the bundled manifests. Throws for a package that is not in the lockfile: then the
 * bundle differs from the lockfile.
 */
export function listOfParts(packages) {
  const all = askNpm();
  const wanted = new Map(packages.map((manifest) => [`${manifest.name}@${manifest.version}`, manifest]));
  const known = new Set(all.components.map((part) => `${part.name}@${part.version}`));
  const unknown = [...wanted.keys()].filter((part) => !known.has(part));
  if (unknown.length > 0) throw new Error(`Not in package-lock.json: ${unknown.join(', ')}. Run npm ci.`);
  // A package may be installed in several folders: it is one component.
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
 * The fields that do not depend on the run or on the version of npm: no date, no serial number, no download URL.
 * Manifests of the older format have a list of licences, which npm ignores.
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
 * All packages of the lockfile: with `--omit=dev` npm 11 also leaves out packages that both the program and a test tool
 * need. The npm of this Node: its script if the path is known, else the command.
 */
function askNpm() {
  const script = process.env.npm_execpath;
  const words = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx'];
  const [command, ...args] = script?.endsWith('.js') ? [process.execPath, script, ...words] : ['npm', ...words];
  return JSON.parse(
    execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 2 ** 26 }),
  );
}
