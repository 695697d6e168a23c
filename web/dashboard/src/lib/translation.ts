/**
 * A browser's translation takes text nodes out of the page and puts others in their place: Chrome and Edge <font> elements,
 * Safari other text nodes. Preact would go on to change the nodes that it made, which nobody sees, and to insert beside them,
 * which throws. So each of them goes back to its place without its text. Once its text changes or it goes, so does its
 * translation, and the browser translates the new text.
 */
interface Translation {
  /** What the browser shows instead. */
  shown: ChildNode;
  text: string;
}

const translations = new WeakMap<Node, Translation>();
const originals = new WeakMap<Node, Text>();

/** What a translation put in the place of the node that a record removed. Preact replaces no node in one step, and makes no <font>. */
function substituteOf({ target, addedNodes, previousSibling, nextSibling }: MutationRecord): ChildNode | undefined {
  const next = previousSibling ? previousSibling.nextSibling : target.firstChild;
  const found = addedNodes.length === 1 ? addedNodes[0] : [previousSibling, nextSibling, next].find((node) => node?.nodeName === "FONT" && !originals.has(node));
  return found?.isConnected ? (found as ChildNode) : undefined;
}

function substitute(original: Text, shown: ChildNode): void {
  const text = translations.get(original)?.text ?? original.data;
  if (shown.contains(original)) original.replaceWith(text); // it is in the element that was put around it
  original.data = "";
  shown.before(original);
  translations.set(original, { shown, text });
  originals.set(shown, original);
}

/** Also if Preact has inserted something between them. */
function keepTogether(original: ChildNode | null): void {
  if (!original) return;
  const shown = translations.get(original)?.shown;
  if (shown?.isConnected && original.nextSibling !== shown) original.after(shown);
}

/** Preact has removed or moved the node, or the browser shows the original again. */
function follow(original: Text, { shown, text }: Translation): void {
  if (original.isConnected && shown.isConnected) return keepTogether(original);
  translations.delete(original);
  if (original.isConnected) original.data = text;
  else shown.remove();
}

function onRemoved(node: Node, record: MutationRecord): void {
  const original = originals.get(node) ?? node;
  const shown = substituteOf(record);
  const translation = translations.get(original);
  if (!(original instanceof Text)) return;
  if (shown && shown !== original) substitute(original, shown);
  else if (translation) follow(original, translation);
}

function onChanged(original: Node): void {
  translations.get(original)?.shown.remove();
  translations.delete(original);
}

/** Keeps what is rendered into the root usable while the browser translates it. */
export function followTranslation(root: Node): void {
  const observer = new MutationObserver((records) => {
    for (const record of records) {
      if (record.target.nodeName === "FONT") continue;
      if (record.type === "characterData") onChanged(record.target);
      for (const node of record.removedNodes) onRemoved(node, record);
      for (const node of record.addedNodes) keepTogether(node.previousSibling);
    }
    observer.takeRecords(); // its own changes
  });
  observer.observe(root, { childList: true, characterData: true, subtree: true });
}
