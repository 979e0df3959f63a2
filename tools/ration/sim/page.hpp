// SPDX-License-Identifier: BSL-1.0
/// What every report has in common: its style, and the little script that shows values under the pointer.
#pragma once

#include <string_view>

namespace ration::program {

inline constexpr std::string_view page_style = R"page(
:root{--page:#f7f7f5;--card:#fff;--line:#e3e2de;--ink:#1d1d1b;--soft:#6b6a66;--bound:#1d1d1b;
--c0:#2a78d6;--c1:#eb6834;--c2:#1a9d6c;--c3:#d99a00;--c4:#d65f9f;--c5:#00757f;--c6:#5a48b8;--c7:#d83c3b}
@media(prefers-color-scheme:dark){:root{--page:#161615;--card:#1f1f1d;--line:#383733;--ink:#f0efea;--soft:#a3a199;--bound:#f0efea;
--c0:#4c97ee;--c1:#ee7a48;--c2:#2cb682;--c3:#dba520;--c4:#e27db4;--c5:#2ba5ae;--c6:#9a8cf0;--c7:#ee6a68}}
*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1120px;margin:0 auto;padding:28px 20px 48px}h1{font-size:25px;line-height:1.25;margin:0 0 2px;letter-spacing:-.01em}
h2{font-size:15.5px;margin:0;font-weight:650}p{margin:0}.soft{color:var(--soft);font-size:13px}
.lead{color:var(--soft);margin-bottom:16px}.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(430px,100%),1fr));gap:14px;margin:14px 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px 10px;position:relative;min-width:0}.wide{grid-column:1/-1}
.card .soft{margin-bottom:8px}.stack{display:grid;gap:14px;align-content:space-between}svg{display:block;width:100%;height:auto;overflow:visible}
text{fill:var(--ink);font:13px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums}
.mark,.name{fill:var(--soft);font-size:12px}.grid{stroke:var(--line)}.axis,.tick{stroke:var(--soft);stroke-opacity:.6}
.bound{stroke:var(--bound);stroke-width:1.5;stroke-dasharray:4 3}.whisker{stroke:var(--ink);stroke-width:1.2;fill:none}
path[class^=c]{fill:none;stroke-width:1.9;stroke-linejoin:round}path[class^=f]{stroke:none;opacity:.22}.dashed{stroke-dasharray:5 3}.off{display:none}
.c0{stroke:var(--c0)}.b0,.f0{fill:var(--c0)}.c1{stroke:var(--c1)}.b1,.f1{fill:var(--c1)}.c2{stroke:var(--c2)}.b2,.f2{fill:var(--c2)}.c3{stroke:var(--c3)}.b3,.f3{fill:var(--c3)}
.c4{stroke:var(--c4)}.b4,.f4{fill:var(--c4)}.c5{stroke:var(--c5)}.b5,.f5{fill:var(--c5)}.c6{stroke:var(--c6)}.b6,.f6{fill:var(--c6)}.c7{stroke:var(--c7)}.b7,.f7{fill:var(--c7)}
.cross{stroke:var(--soft);stroke-opacity:0}.lines:hover .cross{stroke-opacity:.7}
.legend{display:flex;flex-wrap:wrap;gap:6px;position:sticky;top:0;background:var(--page);padding:8px 0;z-index:2}
.legend button{display:flex;align-items:center;gap:7px;font:inherit;font-size:13.5px;color:var(--ink);background:var(--card);border:1px solid var(--line);border-radius:99px;padding:3px 12px 3px 9px;cursor:pointer}
.legend button[aria-pressed=false]{opacity:.4}.dot{width:10px;height:10px;border-radius:3px;display:inline-block}
.tip{position:absolute;pointer-events:none;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:6px 10px;font-size:12.5px;box-shadow:0 4px 16px #0003;white-space:nowrap;z-index:3}
.tip div{display:flex;gap:8px;align-items:center}.tip b{margin-left:auto;padding-left:14px;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:14px}
th,td{padding:5px 0 5px 18px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}th:first-child,td:first-child{text-align:left;padding-left:0;white-space:pre;position:sticky;left:0;background:var(--card)}
thead th{font-weight:650}tr:last-child td,tr:last-child th{border-bottom:0}tbody th{font-weight:400}td small{display:block;color:var(--soft);font-size:11.5px;line-height:1.2}
.notes{border-left:3px solid var(--c3);padding:2px 0 2px 14px;margin:14px 0}.notes li{margin:2px 0}.notes ul{margin:0;padding-left:18px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:3px 18px;margin:6px 0;font-size:13.5px}dt{font-weight:600}dd{margin:0;color:var(--soft)}
@media(max-width:560px){main{padding:20px 12px 40px}.card{padding:12px 12px 8px}text{font-size:17px}.mark,.name{font-size:16.5px}
dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:6px}th,td{padding-left:14px}}
)page";

inline constexpr std::string_view page_script = R"page(
const data=JSON.parse(document.getElementById("data").textContent),L=52,W=640,R=12,hidden=new Set();
const show=v=>v>=999.5?Math.round(v).toLocaleString("en"):v.toPrecision(3);
document.querySelectorAll(".legend button").forEach(b=>b.onclick=()=>{const p=b.dataset.policy,on=b.getAttribute("aria-pressed")=="true";
 b.setAttribute("aria-pressed",!on);on?hidden.add(p):hidden.delete(p);
 document.querySelectorAll('.lines [data-policy="'+p+'"]').forEach(e=>e.classList.toggle("off",on));});
const at=(s,x)=>{if(s.dx)return s.y[Math.max(0,Math.min(s.y.length-1,Math.floor(x/s.dx)))];
 let a=0,b=s.x.length;while(a<b){const m=a+b>>1;s.x[m]<=x?a=m+1:b=m}return a?s.y[a-1]:0};
document.querySelectorAll(".lines").forEach(svg=>{const c=data[svg.dataset.chart],card=svg.closest(".card"),cross=svg.querySelector(".cross");
 const tip=document.createElement("div");tip.className="tip";tip.hidden=true;card.append(tip);
 svg.onpointerleave=()=>tip.hidden=true;
 svg.onpointermove=e=>{const r=svg.getBoundingClientRect(),u=(e.clientX-r.left)/r.width*W,f=(u-L)/(W-L-R);
  if(f<0||f>1){tip.hidden=true;return}
  const x=c.log?c.from*Math.pow(c.to/c.from,f):c.from+(c.to-c.from)*f;cross.setAttribute("x1",u);cross.setAttribute("x2",u);
  tip.replaceChildren();const h=document.createElement("div");h.className="soft";h.textContent=show(x)+" "+c.unit;tip.append(h);
  c.curves.filter(s=>!hidden.has(String(s.colour))).forEach(s=>{const d=document.createElement("div"),k=document.createElement("span"),v=document.createElement("b");
   k.className="dot";k.style.background="var(--c"+s.colour%8+")";v.textContent=c.percent?(at(s,x)*100).toFixed(1)+" %":show(at(s,x));d.append(k,s.label,v);tip.append(d)});
  tip.hidden=false;const k=card.getBoundingClientRect(),px=e.clientX-k.left;
  tip.style.left=(px>k.width/2?px-tip.offsetWidth-14:px+14)+"px";tip.style.top=(e.clientY-k.top+10)+"px"};
});
)page";

}  // namespace ration::program
